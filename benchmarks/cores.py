"""How the time of a run falls with the number of threads.

    python benchmarks/cores.py --data tables --out results

`tabnas search` is run as users run it, with one thread and with all cores in turn, and the models
are compared byte for byte. Times are from start to end of the process; kernels are compiled before.
What more cores would do is simulated: the jobs of a run with one thread are scheduled by the rules
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
from tabnas.runs._job_pool import Job
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


def list_jobs(options: Any, name: str) -> dict[str, Any]:
    """Run a search with one thread; return the seconds of its jobs by phase, and of the rest."""
    target, limit = TABLES[name]
    began = perf_counter()
    jobs: dict[str, list[float]] = {}
    run_job = Job.run

    def run_and_record(job: Job[Any]) -> None:
        start = perf_counter()
        run_job(job)
        jobs.setdefault(job._phase, []).append(perf_counter() - start)

    Job.run = run_and_record  # type: ignore[method-assign]
    try:
        with limit_threads(1):
            data = load_labelled(options, name, target)
            run = plan_run(data, RunSettings(limits={"parameters": limit}))
            finished = run.execute()
    finally:
        Job.run = run_job  # type: ignore[method-assign]
    rest = perf_counter() - began - sum(map(sum, jobs.values()))
    networks = {candidate.architecture for candidate in finished.candidates}
    longer = sum(candidate.is_longer for candidate in finished.candidates)
    return {"jobs": jobs, "rest": rest, "candidates": len(networks), "longer": longer}


def simulate(recorded: dict[str, Any], cores: int) -> float:
    """Return the seconds of a run with so many cores, if jobs do not disturb each other.

    The search and the teacher's fits come first, then the architectures, then the best with
    other shares of the teacher's answers, then its longer training. The reference models start when
    a core is idle; scores are the last.
    """
    jobs, first = recorded["jobs"], recorded["candidates"]
    last = len(jobs["candidates"]) - recorded.get("longer", 0)
    references, *scores = jobs["comparison"]
    stages = [
        [*jobs["search"], *jobs.get("teacher", ())],
        jobs["candidates"][:first],
        jobs["candidates"][first:last],
        jobs["candidates"][last:],
        [*scores, *jobs["diagnosis"]],
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
    known = json.loads(path.read_text()) if path.exists() else {"rows": [], "jobs": {}}
    rows, jobs = known["rows"], known["jobs"]
    for repeat in range(options.repeats):
        for name in options.tables:
            if sum(row["table"] == name for row in rows) <= repeat:
                rows.append(measure(options, name))
                print(rows[-1], flush=True)
            if name not in jobs:
                jobs[name] = list_jobs(options, name)
            origin = collect_provenance("python benchmarks/cores.py --data ... --out results")
            write_results(
                options.out,
                "cores",
                origin | {"rows": rows, "jobs": jobs},
                report(origin, rows, jobs),
            )


def report(origin: dict[str, Any], rows: list[dict[str, Any]], jobs: dict[str, Any]) -> str:
    """Return the page."""
    lines = [
        "# All cores",
        "",
        f"`{origin['command']}`, {origin['date']}, {origin['machine']['cores']} cores. Seconds of "
        "`tabnas search` from start to end of the process, medians; ratios within a pair of runs, "
        "medians. Every pair has found the same model, byte for byte.",
        "",
        "| table | pairs | one thread | all cores | ratio |",
        "|---|---|---|---|---|",
    ]
    for name in jobs:
        pairs = [row for row in rows if row["table"] == name]
        one, many = (median(row[kind] for row in pairs) for kind in ("one", "all"))
        ratio = median(row["all"] / row["one"] for row in pairs)
        lines.append(f"| {name} | {len(pairs)} | {one:.1f} | {many:.1f} | {ratio:.2f} |")
    lines += [
        "",
        "## More cores, simulated",
        "",
        "The jobs of a run with one thread, scheduled on more cores: the time of a run as a share "
        "of that with one. Jobs are taken to last as long side by side as alone, which flatters: "
        "they share caches, memory and Python's global lock. *Without jobs* is what one thread "
        "does while the others wait: reading, planning and writing.",
        "",
        f"| table | jobs | without jobs | {' | '.join(map(format_cores, CORES))} |",
        "|---|---|---|" + "---|" * len(CORES),
    ]
    for name, recorded in jobs.items():
        alone = simulate(recorded, 1)
        shares = [f"{simulate(recorded, cores) / alone:.2f}" for cores in CORES]
        number = sum(map(len, recorded["jobs"].values()))
        rest = f"{recorded['rest'] / alone:.2f}"
        lines.append(f"| {name} | {number} | {rest} | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
