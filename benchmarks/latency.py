"""How well latency is predicted, and whether models stay within limits on it.

    python benchmarks/latency.py --data tables --out results
    python benchmarks/latency.py --data tables --out results --runtime c

On a machine with nothing else to do. The first writes latency.md, for onnxruntime; the second
latency_c.md, for exported C code. First the table of the machine, as `tabnas latency` makes it.
Then networks that it has not seen, measured by themselves and in the files of real tables, whose
overhead is measured as a run measures it; also with numeric embeddings. Then searches under several
limits: the latency of the model that each returned, predicted, as the run measured it, and measured
once more afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

import numpy as np
from _shared import make_parser, sample_table, write_results

from tabnas.data import load_dataset
from tabnas.errors import InfeasibleError
from tabnas.formatting import format_cost
from tabnas.latency import (
    RUNTIMES,
    Clock,
    LatencyTable,
    NetworkShape,
    Runtime,
    measure_calls,
    measure_machine,
    measure_models,
    save_table,
)
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.runs.plan._latency import make_untrained_model
from tabnas.space import LATENCY_ROWS, Architecture, Precision
from tabnas.streams import stream

TABLES = {"adult": "income", "california_housing": "MedHouseVal"}
SHIPPED = ("breast_cancer",)
NETWORKS = 40  # of each kind
MAX_ROWS = 20_000
CALLS = {rows: name for name, rows in LATENCY_ROWS.items()}
DIMENSIONS = (1, 2, 4, 8)  # of numeric embeddings
ROOM_US = {"onnxruntime": (3, 5, 8, 15), "c": (0.1, 0.3, 1, 3)}
"""Of a limit on single rows, beyond the overhead of the table."""
MAX_WIDTH = {"onnxruntime": 512, "c": 256}


def random_shapes(
    seed: str, max_width: int, inputs: int | None = None, outputs: int | None = None
) -> list[NetworkShape]:
    """Return random networks of up to four layers, with log-uniform widths."""
    rng = stream(0, seed)

    def sample_width(maximum: int) -> int:
        return round(2 ** rng.uniform(2, np.log2(maximum)))

    return [
        NetworkShape(
            inputs or sample_width(300),
            Architecture(tuple(sample_width(max_width) for _ in range(rng.integers(0, 5)))),
            outputs or int(rng.integers(1, 30)),
        )
        for _ in range(NETWORKS)
    ]


def summarize_errors(predicted: list[float], measured: list[float]) -> dict[str, float]:
    errors = np.abs(np.array(predicted) / np.array(measured) - 1)
    return {
        "networks": len(errors),
        "least_us": float(np.min(measured)),
        "most_us": float(np.max(measured)),
        "median_error": float(np.median(errors)),
        "p90_error": float(np.quantile(errors, 0.9)),
        "largest_error": float(np.max(errors)),
    }


def measure_networks(
    table: LatencyTable, rows: int, precision: Precision, clock: Clock
) -> dict[str, float]:
    """Measure networks without preprocessing."""
    runtime = RUNTIMES[table.machine.runtime]
    shapes = random_shapes("benchmark networks", MAX_WIDTH[runtime.name])
    terms = table.find_call(rows, precision).terms
    measured = measure_shapes(shapes, table, rows, precision, clock)
    return summarize_errors([terms.predict_us(shape) for shape in shapes], measured)


def measure_shapes(
    shapes: list[NetworkShape], table: LatencyTable, rows: int, precision: Precision, clock: Clock
) -> list[float]:
    runtime = RUNTIMES[table.machine.runtime]
    calls = [runtime.network_call(shape, rows, precision) for shape in shapes]
    terms = table.find_call(rows).terms
    return measure_calls(calls, rows, terms, runtime=runtime, clock=clock)


def measure_embeddings(
    table: LatencyTable, rows: int, precision: Precision, clock: Clock
) -> dict[str, float]:
    """Measure networks with numeric embeddings, without preprocessing."""
    rng = stream(0, "benchmark embeddings")
    shapes = []
    max_width = MAX_WIDTH[table.machine.runtime]
    for shape in random_shapes("benchmark embedded networks", max_width):
        columns, knots = int(rng.integers(1, 41)), int(rng.integers(3, 33))
        architecture = Architecture(shape.architecture.widths, int(rng.choice(DIMENSIONS)))
        inputs = columns + int(rng.integers(0, 10)) * int(rng.integers(2))
        shapes.append(NetworkShape(inputs, architecture, shape.outputs, columns, columns * knots))
    call = table.find_call(rows, precision)
    predicted = [
        call.terms.predict_us(shape)
        + call.embeddings.predict_us(shape.columns, shape.knots, shape.architecture.dimension)
        for shape in shapes
    ]
    return summarize_errors(predicted, measure_shapes(shapes, table, rows, precision, clock))


def load_rows(name: str, folder: Path) -> LabelledTable:
    if name in SHIPPED:
        dataset = load_dataset(name)
        return LabelledTable.from_table(dataset.table, dataset.target)
    table = sample_table(folder, name, stream(0, "benchmark rows"), MAX_ROWS)
    return LabelledTable.from_table(table, TABLES[name])


def measure_files(
    data: LabelledTable,
    table_file: Path,
    runtime: Runtime,
    rows: int,
    precision: Precision,
    clock: Clock,
    dimensions: tuple[int, ...],
) -> dict[str, float]:
    """Measure files with the table's preprocessing in them, and embeddings of these dimensions."""
    settings = RunSettings(
        limits={CALLS[rows]: 1e6},
        latency_table=str(table_file),
        runtime=runtime.name,
        precision=precision,
    )
    run = plan_run(data, settings)
    prepared, latency = run.data, run.plan.latency
    assert latency is not None
    space = run.plan.feasible.space
    reference = latency.costs[CALLS[rows]]
    cost = reference.at_precision(precision)
    inputs, outputs = prepared.spec.inputs.width, prepared.spec.outputs
    shapes = random_shapes("benchmark files", MAX_WIDTH[runtime.name], inputs, outputs)
    architectures = [
        Architecture(shape.architecture.widths, dimensions[k % len(dimensions)])
        for k, shape in enumerate(shapes)
    ]
    models = [make_untrained_model(one, prepared, precision) for one in architectures]
    assert prepared.latency_rows is not None
    measured = measure_models(
        models, prepared.latency_rows, rows, reference.terms, runtime=runtime, clock=clock
    )
    predicted = [cost(space, architecture) for architecture in architectures]
    return summarize_errors(predicted, measured) | {"overhead_us": cost.overhead_us or 0.0}


def search_with_limits(
    name: str, data: LabelledTable, table_file: Path, runtime: Runtime, overhead_us: float
) -> list[dict]:
    """Search under limits on single rows, and measure the returned models."""
    searches = []
    for room_us in ROOM_US[runtime.name]:
        limit_us = round(overhead_us + room_us, 1 if room_us >= 3 else 2)
        settings = RunSettings(
            limits={"latency_us": limit_us},
            latency_table=str(table_file),
            runtime=runtime.name,
            reference_models=False,
            time=20,
        )
        row = {"table": name, "limit_us": limit_us}
        try:
            finished = plan_run(data, settings).execute()
        except InfeasibleError as error:
            searches.append(row | {"refused": str(error)})
            print(searches[-1], flush=True)
            continue
        plan, prepared = finished.plan, finished.data
        assert plan.latency is not None
        assert prepared.latency_rows is not None
        cost = plan.latency.costs["latency_us"]
        searches.append(
            row
            | {
                "architecture": str(finished.model.architecture),
                "predicted_us": cost(plan.feasible.space, finished.model.architecture),
                "measured_us": finished.latencies_us["latency_us"],
                "afterwards_us": measure_models(
                    [finished.model], prepared.latency_rows, 1, cost.terms, runtime=runtime
                )[0],
                "notes": list(finished.notes),
            }
        )
        print(searches[-1], flush=True)
    return searches


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runtime", choices=tuple(RUNTIMES), default="onnxruntime")
    options = parser.parse_args()
    runtime = RUNTIMES[options.runtime]
    name = "latency" if options.runtime == "onnxruntime" else f"latency_{options.runtime}"
    clock = Clock(rounds=24)
    began = perf_counter()
    table = measure_machine(runtime, seconds=options.seconds)
    survey_seconds = perf_counter() - began
    table_file = save_table(table, options.out / f"{name}_table.json")
    command = "python benchmarks/latency.py --data ... --out results"
    suffix = "" if options.runtime == "onnxruntime" else f" --runtime {options.runtime}"
    results: dict[str, object] = {
        "provenance": collect_provenance(command + suffix),
        "table": json.loads(table.to_json()),
        "survey_seconds": round(survey_seconds, 1),
    }
    row_counts = list(CALLS)[:1] if runtime.loops_over_rows else list(CALLS)
    kinds = [(rows, precision) for rows in row_counts for precision in runtime.precisions]
    predictions, searches = [], []

    def add(what: str, rows: int, precision: Precision, summary: dict[str, float]) -> None:
        suffix = f", {precision}" if len(runtime.precisions) > 1 else ""
        predictions.append({"what": what + suffix, "rows": rows, **summary})
        print(predictions[-1], flush=True)

    for rows, precision in kinds:
        bare = measure_networks(table, rows, precision, clock)
        add("network alone", rows, precision, bare)
        embedded = measure_embeddings(table, rows, precision, clock)
        add("network with embeddings", rows, precision, embedded)
    for dataset in (*SHIPPED, *TABLES):
        data = load_rows(dataset, options.data)
        for rows, precision in kinds:
            arguments = (data, table_file, runtime, rows, precision, clock)
            summary = measure_files(*arguments, (0,))
            add(f"file for {dataset}", rows, precision, summary)
            if dataset not in SHIPPED:  # too few rows to embed numbers
                embedded = measure_files(*arguments, DIMENSIONS)
                add(f"file for {dataset}, with embeddings", rows, precision, embedded)
            if rows == 1 and precision == Precision.FLOAT32:
                overhead_us = summary["overhead_us"]
                searches += search_with_limits(dataset, data, table_file, runtime, overhead_us)
    results |= {"predictions": predictions, "promises": searches}
    write_results(options.out, name, results, report(results))
    table_file.unlink()


def report(results: dict) -> str:
    made, machine = results["provenance"], results["table"]["machine"]
    runtime = RUNTIMES[machine["runtime"]]
    title = "Latency" if runtime.name == "onnxruntime" else "Latency in C"
    lines = [
        f"# {title}",
        "",
        f"`{made['command']}`, {made['date']}, {made['machine']['processor']}, "
        f"{runtime.describe(machine['version'])}, one thread. The machine was measured in "
        f"{results['survey_seconds']:.0f} s. Random networks that nothing was fitted to: relative "
        "error of the predicted latency.",
        "",
        "| what is called | rows a call | networks | from | to | median error | 90 % | all |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {p['what']} | {p['rows']} | {p['networks']} | {format_us(p['least_us'])} | "
        f"{format_us(p['most_us'])} | **{p['median_error']:.1%}** | {p['p90_error']:.1%} | "
        f"{p['largest_error']:.1%} |"
        for p in results["predictions"]
    ]
    lines += [
        "",
        "Searches under a limit on single rows. The run measures its model itself and may not "
        "return one over the limit; it was measured once more afterwards.",
        "",
        "| table | limit | network | predicted | measured by the run | afterwards |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {p['table']} | {p['limit_us']} µs | refused | | | |"
        if "refused" in p
        else f"| {p['table']} | {p['limit_us']} µs | {p['architecture']} | "
        f"{format_cost(p['predicted_us'])} µs | **{format_cost(p['measured_us'])} µs** | "
        f"{format_cost(p['afterwards_us'])} µs |"
        for p in results["promises"]
    ]
    return "\n".join(lines) + "\n"


def format_us(us: float) -> str:
    return f"{us:,.0f} µs" if us >= 5 else f"{us:.2f} µs"


if __name__ == "__main__":
    main()
