"""How time and memory grow with a table, a space and a number of workers.

    python benchmarks/growth.py --out results

One thing grows at a time, from rows, columns, layers, widths, classes, workers and the number of
candidate architectures; all else stays at the values below. Each case is a process of its own,
which makes a table of random numbers, compiles, and then measures one epoch of a search (the
feasible set and the selection of candidates included) and one of a stand-alone training of the
largest network within the limit, by the processor's clock, that of workers by the wall's. Memory is
the most that was resident, less what was before the table was made. Exponents are slopes of
logarithms over the upper half of each range, where what is constant matters least. With `--grow`
only some are measured, and the others are kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter, process_time

import numpy as np

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.nets import (
    Adam,
    Cosine,
    Examples,
    Inputs,
    NetworkSpec,
    SuperNet,
    TrainingSettings,
    train,
)
from tabnas.paper import collect_provenance
from tabnas.policy import Adam as PolicyAdam
from tabnas.search import Search, SearchSettings, select
from tabnas.space import COSTS

USUAL = {
    "rows": 200_000,
    "columns": 20,
    "layers": 3,
    "width": 64,  # the widest candidate of a layer
    "widths": 8,  # candidates of a layer
    "classes": 2,
    "workers": 1,
}
GROWTH = {
    "rows": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000],
    "columns": [10, 20, 50, 100, 200, 500, 1_000],
    "layers": [1, 2, 3, 4, 6, 8],
    "width": [16, 32, 64, 128, 256, 512],
    "widths": [2, 4, 8, 16, 32, 64],  # candidate architectures: their number cubed
    "classes": [2, 5, 10, 30, 100, 300, 1_000],
    "workers": [1, 2, 4],
}
VALIDATION_ROWS = 5_000
BATCH = 512


def make_table(case: dict[str, int], rows: int, seed: int) -> Examples:
    """Return random numbers, and a target that depends on the first two columns."""
    rng = np.random.default_rng(seed)
    numeric = np.empty((rows, case["columns"]), np.float32)
    for begin in range(0, rows, 1 << 16):  # piece by piece: float64 would take twice the memory
        end = min(rows, begin + (1 << 16))
        numeric[begin:end] = rng.standard_normal((end - begin, case["columns"]), np.float32)
    signal = numeric[:, 0] * numeric[:, 1]
    if case["classes"] == 2:
        spec = NetworkSpec(inputs=Inputs(numeric=case["columns"]), loss="logistic")
        return Examples(spec, numeric=numeric, target=(signal > 0).astype(np.float32))
    spec = NetworkSpec(
        inputs=Inputs(numeric=case["columns"]), loss="softmax", outputs=case["classes"]
    )
    labels = np.minimum(np.abs(signal) * case["classes"] / 3, case["classes"] - 1)
    return Examples(spec, numeric=numeric, target=labels.astype(np.int32))


def measure_case(case: dict[str, int]) -> dict[str, float]:
    """Measure one epoch of each kind, after a small one that compiles."""
    workers = case["workers"]
    run(case | {"rows": 4 * BATCH}, make_table(case, 4 * BATCH, seed=2), clock=process_time)
    before = peak_memory()
    began = perf_counter()
    training = make_table(case, case["rows"], seed=0)
    table_seconds = perf_counter() - began
    clock = process_time if workers == 1 else perf_counter
    measured = run(case, training, clock=clock)
    return measured | {"megabytes": peak_memory() - before, "table_seconds": table_seconds}


def run(case: dict[str, int], training: Examples, *, clock) -> dict[str, float]:
    validation = make_table(case, VALIDATION_ROWS, seed=1)
    began = clock()
    widest, count = case["width"], case["widths"]
    widths = sorted({max(1, round(widest * (k + 1) / count)) for k in range(count)})
    space = SearchSpace.uniform(
        layers=case["layers"], widths=widths, inputs=case["columns"], outputs=training.spec.outputs
    )
    most = COSTS["parameters"](space, space.architecture([len(c) - 1 for c in space.layers]))
    feasible = FeasibleSet(space, Budget(parameters=int(most / 2)))
    settings = SearchSettings(
        epochs=1,
        batch_size=BATCH // case["workers"],
        optimizer=Adam(weight_decay=0.1),
        schedule=Cosine(0.01),
        workers=case["workers"],
        evaluations_per_step=8,
        policy_every=16,
        baseline="others",
        policy_optimizer=PolicyAdam(learning_rate=0.1),
    )
    search = Search(feasible, training, validation, settings)
    search.run()
    select(search, 3)
    searched = clock() - began
    largest = feasible.most_expensive()
    began = clock()
    net = SuperNet.standalone(largest, training.spec, optimizer=settings.optimizer)
    how = TrainingSettings(epochs=1, batch_size=BATCH, schedule=settings.schedule)
    train(net, largest, training, how)
    return {
        "search": searched,
        "training": clock() - began,
        "architectures": float(space.size),
        "feasible": float(feasible.count()),
    }


def peak_memory() -> float:
    """Return the largest resident memory so far, in megabytes."""
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def fit_exponent(sizes: list[float], values: list[float]) -> float:
    """Return the slope of logarithms over the upper half of a range."""
    upper = max(2, (len(sizes) + 1) // 2)
    return float(np.polyfit(np.log(sizes[-upper:]), np.log(values[-upper:]), 1)[0])


def run_in_process(case: dict[str, int]) -> dict[str, float]:
    """Measure a case in a separate process, so that memory is not shared with others."""
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure_growth(name: str, repeats: int) -> dict[str, object]:
    cases = []
    for value in GROWTH[name]:
        repeated = [run_in_process(USUAL | {name: value}) for _ in range(repeats)]
        medians = {key: median(repeat[key] for repeat in repeated) for key in repeated[0]}
        print(f"{name} {value:,}: {medians}", flush=True)
        cases.append({name: value} | medians)
    sizes = [case["architectures"] if name == "widths" else case[name] for case in cases]
    measures = ("search", "training", "megabytes")
    exponents = {key: fit_exponent(sizes, [case[key] for case in cases]) for key in measures}
    return {"grows": name, "cases": cases, "exponents": exponents}


def report(rows: list[dict], origin: dict) -> str:
    """Return the report."""
    lines = [
        "# How time and memory grow",
        "",
        f"`{origin['command']}`, {origin['date']}. {__doc__.split(chr(10) * 2)[2].strip()}",
        "",
        "Elsewhere: " + ", ".join(f"{name} {value:,}" for name, value in USUAL.items()) + ".",
        "",
        "| what grows | to the power, search | training | memory |",
        "|:--|--:|--:|--:|",
    ]
    for row in rows:
        name = "candidate architectures" if row["grows"] == "widths" else row["grows"]
        powers = " | ".join(f"{value:.2f}" for value in row["exponents"].values())
        lines.append(f"| {name} | {powers} |")
    for row in rows:
        name = row["grows"]
        lines += ["", f"## {name}", ""]
        more = "architectures | " if name == "widths" else ""
        lines += [f"| {name} | {more}search s | training s | MB |"]
        lines += ["|--:" * (4 + bool(more)) + "|"]
        for case in row["cases"]:
            count = f"{case['architectures']:,.0f} | " if more else ""
            lines.append(
                f"| {case[name]:,} | {count}{case['search']:.2f} | {case['training']:.2f} | "
                f"{case['megabytes']:,.0f} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--grow", nargs="*", default=list(GROWTH), choices=list(GROWTH))
    parser.add_argument("--case", help="measure one case here, and print it")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure_case(json.loads(options.case))))
        return
    origin = collect_provenance("python benchmarks/growth.py --out results")
    file = options.out / "growth.json"
    before = json.loads(file.read_text())["rows"] if file.exists() else []
    earlier = {row["grows"]: row for row in before}
    rows = []
    for name in GROWTH:
        if name in options.grow:
            rows.append(measure_growth(name, options.repeats))
        elif name in earlier:
            rows.append(earlier[name])
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"provenance": origin, "usual": USUAL, "rows": rows}, indent=1)
    file.write_text(text + "\n")
    (options.out / "growth.md").write_text(report(rows, origin))


if __name__ == "__main__":
    main()
