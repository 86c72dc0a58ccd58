"""How the time of a run falls with the number of threads.

    python benchmarks/cores.py --data tables --out results

`tabnas search` is run as users run it, with one thread and with all cores in turn, and the models
are compared byte for byte. Times are from start to end of the process; kernels are compiled before.
What more cores would do is simulated: the tasks of a run with one thread are scheduled by the rules
of the pool that runs them. An interrupted benchmark goes on where it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
from heapq import heapify, heappop, heappush
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from _shared import load_labelled, make_parser, write_results

from tabnas.paper import collect_provenance
from tabnas.runs import RunSettings, plan_run
from tabnas.runs._tasks import Task
from tabnas.threads import available_threads, limit_threads

TABLES = {
    "adult": ("income", 5_000),
    "higgs": ("signal", 5_000),
    "covertype": ("cover_type", 20_000),
}
CORES = (1, 2, 4, 8, 16)


def time_search(table: Path, target: str, limit: int, threads: int, folder: Path) -> float:
    """Return the seconds of `tabnas search` in a process of its own."""
    command = [sys.executable, "-m", "tabnas", "search", str(table), "--target", target]
    command += ["--max-parameters", str(limit), "--threads", str(threads), "--quiet"]
    began = perf_counter()
    subprocess.run([*command, "--out", str(folder)], check=True)
    return perf_counter() - began


def measure(options: Any, name: str) -> dict[str, Any]:
    """Time a search with one thread and with all, and compare what they have found."""
    target, limit = TABLES[name]
    table = options.data / f"{name}.parquet"
    with TemporaryDirectory() as folder:
        runs = [Path(folder) / "one", Path(folder) / "all"]
        numbers = (1, available_threads())
        one, many = (
            time_search(table, target, limit, threads, run)
            for threads, run in zip(numbers, runs, strict=True)
        )
        first, second = (
            {f.name: f.read_bytes() for f in (run / "model").iterdir()} for run in runs
        )
    if first != second:
        raise AssertionError(f"the models of {name} differ with the number of threads")
    return {"table": name, "one": one, "all": many}


def list_tasks(options: Any, name: str) -> dict[str, Any]:
    """Run a search with one thread; return the seconds of its tasks by phase, and of the rest."""
    target, limit = TABLES[name]
    began = perf_counter()
    tasks: dict[str, list[float]] = {}
    run_task = Task.run

    def run_and_record(task: Task[Any]) -> None:
        start = perf_counter()
        run_task(task)
        tasks.setdefault(task._phase, []).append(perf_counter() - start)

    Task.run = run_and_record  # type: ignore[method-assign]
    try:
        with limit_threads(1):
            data = load_labelled(options, name, target)
            run = plan_run(data, RunSettings(limits={"parameters": limit}))
            run.execute()
    finally:
        Task.run = run_task  # type: ignore[method-assign]
    rest = perf_counter() - began - sum(map(sum, tasks.values()))
    return {"tasks": tasks, "rest": rest, "candidates": run.plan.candidates}


def simulate(recorded: dict[str, Any], cores: int) -> float:
    """Return the seconds of a run with so many cores, if tasks do not disturb each other.

    The search and the teacher's fits come first, then the architectures, then the other lessons of
    the best. The reference models start when a core is idle; scores are the last.
    """
    tasks, first = recorded["tasks"], recorded["candidates"]
    references, *scores = tasks["comparison"]
    stages = [
        [*tasks["search"], *tasks.get("teacher", ())],
        tasks["candidates"][:first],
        tasks["candidates"][first:],
        [*scores, *tasks["diagnosis"]],
    ]
    idle_from, now, background = [0.0] * cores, 0.0, [references]
    for number, stage in enumerate(stages):
        if number == len(stages) - 1:  # scores wait for the reference models
            for seconds in background:
                heappush(idle_from, max(heappop(idle_from), now) + seconds)
            now = max(idle_from)
        end = now
        for seconds in stage:
            done = max(heappop(idle_from), now) + seconds
            heappush(idle_from, done)
            end = max(end, done)
        while background and idle_from[0] < end:
            heappush(idle_from, max(heappop(idle_from), now) + background.pop())
        heapify(idle_from)
        now = end
    return float(recorded["rest"]) + now


def format_cores(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    path = options.out / "cores.json"
    known = json.loads(path.read_text()) if path.exists() else {"rows": [], "tasks": {}}
    rows, tasks = known["rows"], known["tasks"]
    for repeat in range(options.repeats):
        for name in options.tables:
            if sum(row["table"] == name for row in rows) <= repeat:
                rows.append(measure(options, name))
                print(rows[-1], flush=True)
            if name not in tasks:
                tasks[name] = list_tasks(options, name)
            facts = collect_provenance("python benchmarks/cores.py --data ... --out results")
            write_results(
                options.out,
                "cores",
                facts | {"rows": rows, "tasks": tasks},
                report(facts, rows, tasks),
            )


def report(facts: dict[str, Any], rows: list[dict[str, Any]], tasks: dict[str, Any]) -> str:
    """Return the page."""
    lines = [
        "# All cores",
        "",
        f"`{facts['command']}`, {facts['date']}, {facts['machine']['cores']} cores. Seconds of "
        "`tabnas search` from start to end of the process, medians; ratios within a pair of runs, "
        "medians. Every pair has found the same model, byte for byte.",
        "",
        "| table | pairs | one thread | all cores | ratio |",
        "|---|---|---|---|---|",
    ]
    for name in tasks:
        pairs = [row for row in rows if row["table"] == name]
        one, many = (median(row[kind] for row in pairs) for kind in ("one", "all"))
        ratio = median(row["all"] / row["one"] for row in pairs)
        lines.append(f"| {name} | {len(pairs)} | {one:.1f} | {many:.1f} | {ratio:.2f} |")
    lines += [
        "",
        "## More cores, simulated",
        "",
        "The tasks of a run with one thread, scheduled on more cores: the time of a run as a share "
        "of that with one. Tasks are taken to last as long side by side as alone, which flatters: "
        "they share caches, memory and Python's global lock. *Without tasks* is what one thread "
        "does while the others wait: reading, planning and writing.",
        "",
        f"| table | tasks | without tasks | {' | '.join(map(format_cores, CORES))} |",
        "|---|---|---|" + "---|" * len(CORES),
    ]
    for name, recorded in tasks.items():
        alone = simulate(recorded, 1)
        shares = [f"{simulate(recorded, cores) / alone:.2f}" for cores in CORES]
        number = sum(map(len, recorded["tasks"].values()))
        rest = f"{recorded['rest'] / alone:.2f}"
        lines.append(f"| {name} | {number} | {rest} | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
