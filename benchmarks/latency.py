"""How well latency is predicted, and whether models stay within limits on it.

    python benchmarks/latency.py --data tables --out results

On a machine with nothing else to do. First the table of the machine, as `tabnas latency` makes it.
Then networks that it has not seen, measured by themselves and in the files of real tables, whose
overhead is measured as a run measures it; also with numeric embeddings. Then searches under several
limits: the latency of the model that each returned, predicted, as the run measured it, and measured
once more afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from _shared import make_parser, sample_table, write_results
from tabnas.latency._onnx_calls import network_call

from tabnas.data import load_dataset
from tabnas.errors import InfeasibleError
from tabnas.latency import (
    Clock,
    LatencyTable,
    NetworkShape,
    measure_calls,
    measure_machine,
    measure_models,
    save_table,
)
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.runs.plan._latency import make_untrained_model
from tabnas.space import MEASURED_COSTS, Architecture
from tabnas.streams import stream

TABLES = {"adult": "income", "california_housing": "MedHouseVal"}
SHIPPED = ("breast_cancer",)
NETWORKS = 40  # of each kind
MAX_ROWS = 20_000
CALLS = {rows: name for name, rows in MEASURED_COSTS.items()}
DIMENSIONS = (1, 2, 4, 8)  # of numeric embeddings
ROOM_US = (3, 5, 8, 15)  # of a limit on single rows, beyond the overhead of the table


def random_shapes(
    seed: str, inputs: int | None = None, outputs: int | None = None
) -> list[NetworkShape]:
    """Return random networks of up to four layers, with log-uniform widths."""
    rng = stream(0, seed)

    def sample_width(maximum: int) -> int:
        return round(2 ** rng.uniform(2, np.log2(maximum)))

    return [
        NetworkShape(
            inputs or sample_width(300),
            Architecture(tuple(sample_width(512) for _ in range(rng.integers(0, 5)))),
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


def measure_networks(table: LatencyTable, rows: int, clock: Clock) -> dict[str, float]:
    """Measure networks without preprocessing."""
    shapes = random_shapes("benchmark networks")
    terms = table.calls[rows].terms
    calls = [network_call(shape, rows) for shape in shapes]
    measured = measure_calls(calls, rows, terms, clock=clock)
    return summarize_errors([terms.predict_us(shape) for shape in shapes], measured)


def measure_embeddings(table: LatencyTable, rows: int, clock: Clock) -> dict[str, float]:
    """Measure networks with numeric embeddings, without preprocessing."""
    rng = stream(0, "benchmark embeddings")
    shapes = []
    for shape in random_shapes("benchmark embedded networks"):
        columns, knots = int(rng.integers(1, 41)), int(rng.integers(3, 33))
        architecture = Architecture(shape.architecture.widths, int(rng.choice(DIMENSIONS)))
        inputs = columns + int(rng.integers(0, 10)) * int(rng.integers(2))
        shapes.append(NetworkShape(inputs, architecture, shape.outputs, columns, columns * knots))
    call = table.calls[rows]
    predicted = [
        call.terms.predict_us(shape)
        + call.embeddings.predict_us(shape.columns, shape.knots, shape.architecture.dimension)
        for shape in shapes
    ]
    calls = [network_call(shape, rows) for shape in shapes]
    return summarize_errors(predicted, measure_calls(calls, rows, call.terms, clock=clock))


def load_rows(name: str, folder: Path) -> LabelledTable:
    if name in SHIPPED:
        dataset = load_dataset(name)
        return LabelledTable.from_table(dataset.table, dataset.target)
    table = sample_table(folder, name, stream(0, "benchmark rows"), MAX_ROWS)
    return LabelledTable.from_table(table, TABLES[name])


def measure_files(
    data: LabelledTable, table_file: Path, rows: int, clock: Clock, dimensions: tuple[int, ...]
) -> dict[str, float]:
    """Measure files with the table's preprocessing in them, and embeddings of these dimensions."""
    settings = RunSettings(limits={CALLS[rows]: 1e6}, latency_table=str(table_file))
    run = plan_run(data, settings)
    prepared, latency = run.data, run.plan.latency
    assert latency is not None
    cost, space = latency.costs[CALLS[rows]], run.plan.feasible.space
    shapes = random_shapes("benchmark files", prepared.task.inputs.width, prepared.task.outputs)
    architectures = [
        Architecture(shape.architecture.widths, dimensions[k % len(dimensions)])
        for k, shape in enumerate(shapes)
    ]
    models = [make_untrained_model(architecture, prepared) for architecture in architectures]
    assert prepared.latency_rows is not None
    measured = measure_models(models, prepared.latency_rows, rows, cost.terms, clock=clock)
    predicted = [cost(space, architecture) for architecture in architectures]
    return summarize_errors(predicted, measured) | {"overhead_us": cost.overhead_us or 0.0}


def search_with_limits(
    name: str, data: LabelledTable, table_file: Path, overhead_us: float
) -> list[dict]:
    """Search under limits on single rows, and measure the returned models."""
    searches = []
    for room_us in ROOM_US:
        limit_us = round(overhead_us + room_us, 1)
        settings = RunSettings(
            limits={"latency_us": limit_us},
            latency_table=str(table_file),
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
                "measured_us": finished.measured_us["latency_us"],
                "afterwards_us": measure_models(
                    [finished.model], prepared.latency_rows, 1, cost.terms
                )[0],
                "notes": list(finished.notes),
            }
        )
        print(searches[-1], flush=True)
    return searches


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    clock = Clock(rounds=24)
    table = measure_machine(seconds=options.seconds)
    table_file = save_table(table, options.out / "latency_table.json")
    facts: dict[str, object] = {
        "provenance": collect_provenance("python benchmarks/latency.py --data ... --out results"),
        "table": json.loads(table.to_json()),
    }
    predictions, searches = [], []
    for rows in CALLS:
        bare = measure_networks(table, rows, clock)
        predictions.append({"what": "network alone", "rows": rows, **bare})
        print(predictions[-1], flush=True)
        embedded = measure_embeddings(table, rows, clock)
        predictions.append({"what": "network with embeddings", "rows": rows, **embedded})
        print(predictions[-1], flush=True)
    for name in (*SHIPPED, *TABLES):
        data = load_rows(name, options.data)
        for rows in CALLS:
            summary = measure_files(data, table_file, rows, clock, (0,))
            predictions.append({"what": f"file for {name}", "rows": rows, **summary})
            print(predictions[-1], flush=True)
            if name not in SHIPPED:  # too few rows to embed numbers
                embedded = measure_files(data, table_file, rows, clock, DIMENSIONS)
                what = f"file for {name}, with embeddings"
                predictions.append({"what": what, "rows": rows, **embedded})
                print(predictions[-1], flush=True)
            if rows == 1:
                searches += search_with_limits(name, data, table_file, summary["overhead_us"])
    facts |= {"predictions": predictions, "promises": searches}
    write_results(options.out, "latency", facts, report(facts))
    table_file.unlink()


def report(facts: dict) -> str:
    made = facts["provenance"]
    lines = [
        "# Latency",
        "",
        f"`{made['command']}`, {made['date']}, {made['machine']['processor']}, onnxruntime "
        f"{facts['table']['machine']['onnxruntime']}, one thread. Random networks that nothing was "
        "fitted to: relative error of the predicted latency.",
        "",
        "| what is called | rows a call | networks | from | to | median error | 90 % | all |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {p['what']} | {p['rows']} | {p['networks']} | {p['least_us']:,.0f} µs | "
        f"{p['most_us']:,.0f} µs | **{p['median_error']:.1%}** | {p['p90_error']:.1%} | "
        f"{p['largest_error']:.1%} |"
        for p in facts["predictions"]
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
        f"{p['predicted_us']:.1f} µs | **{p['measured_us']:.1f} µs** | "
        f"{p['afterwards_us']:.1f} µs |"
        for p in facts["promises"]
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
