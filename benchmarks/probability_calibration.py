"""Whether one temperature, fitted on rows held out, makes probabilities truer on test rows.

    python benchmarks/probability_calibration.py --data tables --out results

Every run is made once; the same network is then scored on the same test rows with and without its
temperature. Tables of a few thousand rows or fewer are fitted on the rows that folds held out,
larger ones on the validation rows. At most 20,000 rows of each table are taken.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import numpy as np
from _shared import make_parser, sample_table, write_results

from tabnas.data import Table, load_dataset
from tabnas.model import probabilities, score
from tabnas.nets import SuperNet
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.streams import stream

SHIPPED = {"breast_cancer": 1_000, "digits": 5_000, "iris": 200, "wine": 500}
FILES = {
    "adult": ("income", 5_000),
    "connect4": ("outcome", 10_000),
    "covertype": ("cover_type", 20_000),
    "letter": ("letter", 6_000),
    "sleep": ("stage", 10_000),
}
MAX_ROWS = 20_000
BINS = 10


def calibration_error(chances: np.ndarray, labels: np.ndarray) -> float:
    """How far the said chance of the likeliest class is from its share, over bins of rows."""
    confidence, right = chances.max(axis=1), chances.argmax(axis=1) == labels
    order = np.argsort(confidence)
    bins = np.array_split(order, BINS)
    return sum(len(b) * abs(confidence[b].mean() - right[b].mean()) for b in bins) / len(labels)


def load_table(name: str, folder: Path, seed: int) -> tuple[Table, str, int]:
    if name in SHIPPED:
        dataset = load_dataset(name)
        return dataset.table, dataset.target, SHIPPED[name]
    target, limit = FILES[name]
    table = sample_table(folder, name, stream(seed, "benchmark rows"), MAX_ROWS)
    return table, target, limit


def measure(name: str, folder: Path, seed: int) -> dict[str, float | str | int]:
    table, target, limit = load_table(name, folder, seed)
    settings = RunSettings(limits={"parameters": limit}, seed=seed, reference_models=False)
    run = plan_run(LabelledTable.from_table(table, target), settings)
    finished = run.execute()
    test, temperature = run.data.test, finished.chosen.temperature
    net = SuperNet.standalone(finished.model.architecture, run.data.spec)
    net.load_weights(finished.model.weights)
    logits = net.logits(finished.model.architecture, test.examples)
    result: dict[str, float | str | int] = {
        "table": name,
        "seed": seed,
        "fitted on": "folds" if run.plan.folds else "validation",
        "rows": len(run.data.train_and_validation if run.plan.folds else run.data.validation),
        "temperature": temperature,
    }
    for kind, raw in (("with", logits), ("without", logits * np.float32(temperature))):
        chances = probabilities(raw)
        result[f"log loss {kind}"] = score(run.data.target, test.y, chances)["log_loss"].value
        result[f"error {kind}"] = calibration_error(chances, test.y)
    return result


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=[*SHIPPED, *FILES])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for name in options.tables:
        for seed in range(options.seeds):
            rows.append(measure(name, options.data, seed))
            print(rows[-1], flush=True)
    origin = collect_provenance(
        "python benchmarks/probability_calibration.py --data ... --out results"
    )
    write_results(
        options.out,
        "probability_calibration",
        origin | {"rows": rows},
        report(origin, rows, options.seeds),
    )


def report(origin, rows, seeds: int) -> str:
    lines = [
        "# Calibrated probabilities",
        "",
        f"`{origin['command']}`, {origin['date']}. Means over {seeds} seeds, on test rows. The "
        "calibration error is the mean distance between the said chance of the likeliest class "
        f"and how often it is right, over {BINS} bins of equally many rows (with few test rows "
        "most of it is chance).",
        "",
        "| table | fitted on | temperature | log loss without | with | error without | with |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["table"] for row in rows):
        of_table = [row for row in rows if row["table"] == name]
        temperatures = [row["temperature"] for row in of_table]
        figures = [
            f"{mean(row[f'{what} {kind}'] for row in of_table):.4f}"
            for what in ("log loss", "error")
            for kind in ("without", "with")
        ]
        lines.append(
            f"| {name} | {of_table[0]['rows']:,} rows, {of_table[0]['fitted on']} | "
            f"{min(temperatures):.2f} to {max(temperatures):.2f} | {' | '.join(figures)} |"
        )
    better = sum(row["log loss with"] < row["log loss without"] for row in rows)
    return (
        "\n".join([*lines, "", f"Log loss is lower with it in {better} of {len(rows)} runs."])
        + "\n"
    )


if __name__ == "__main__":
    main()
