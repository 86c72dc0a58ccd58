"""What a moving average of the weights does to stand-alone trainings, by how far it reaches back.

    python benchmarks/weight_averaging.py --data tables --out results

Networks of two equal layers, as wide as the limit allows, with numbers as they are and with numeric
embeddings, are trained with the default settings. An average does not change the training, so one
training measures all of them: each keeps its own best epoch on validation rows. An interrupted
benchmark goes on where it was.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from math import inf

import numpy as np
from _shared import make_parser, sample_table, write_results
from embedding_rules import rows_for, widest
from tables import TABLES

from tabnas.data import load_dataset
from tabnas.nets import Cosine, SuperNet, Trainer, TrainingResult, TrainingSettings
from tabnas.nets._averaging import MIN_STEPS_BETWEEN, UPDATES_PER_EPOCH, WeightAverage
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings
from tabnas.runs.plan._default_plan import (
    LEARNING_RATE,
    OPTIMIZER,
    default_batch_size,
    default_epochs,
)
from tabnas.runs.prepare._prepare import prepare_data

MAX_ROWS = 60_000
SMALL = {"breast_cancer": 2_000, "diabetes": 1_000, "digits": 5_000, "iris": 500, "wine": 1_000}
HORIZONS = (0.25, 0.5, 1.0, 2.0, 4.0)
DIMENSIONS = (0, 2)
FREQUENT = 1.0  # the horizon that is also measured with an update after every step
OFF = "off"
MORE_SEEDS = 5
"""Small tables have so many times more seeds: their few test rows say little."""


class WarmUpAverage(WeightAverage):
    """The other usual start: at update t, the decay is at most (1 + t) / (10 + t)."""

    updates = 0

    def _rate(self, step: int, steps: int) -> float:
        rate = -np.expm1(-steps / self._memory)
        rate = max(rate, 9.0 / (10.0 + self.updates)) if self.updates else 1.0
        self.updates += 1
        return float(rate)


def make_averages(net: SuperNet, steps_per_epoch: int) -> dict[str, WeightAverage]:
    """Return the averages to measure, by name."""
    averages: dict[str, WeightAverage] = {}
    for epochs in HORIZONS:
        settings = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        averages[f"{epochs:g}"] = WeightAverage(net, **settings)
        averages[f"{epochs:g} warm-up"] = WarmUpAverage(net, **settings)
    frequent = WeightAverage(net, epochs=FREQUENT, steps_per_epoch=steps_per_epoch)
    frequent._every = 1
    return averages | {f"{FREQUENT:g} every step": frequent}


def measure(data, architecture, seed: int) -> dict[str, dict[str, float]]:
    """Train once; return the best epoch of every average, and its losses."""
    task = data.task
    rows, validation, test = (
        rows_for(task, part) for part in (data.train_in_memory, data.validation, data.test)
    )
    net = SuperNet.standalone(architecture, task, optimizer=OPTIMIZER, seed=seed)
    batch_size = default_batch_size(len(rows))
    settings = TrainingSettings(
        epochs=default_epochs(len(rows), batch_size), batch_size=batch_size,
        schedule=Cosine(LEARNING_RATE), seed=seed,
    )  # fmt: skip
    trainer = Trainer(net, architecture, rows, settings)
    steps_per_epoch = trainer.steps // settings.epochs
    averages = make_averages(net, steps_per_epoch)
    best = {kind: {"validation": inf} for kind in (OFF, *averages)}

    def update() -> None:
        for average in averages.values():
            average.update(trainer.step)

    def on_step() -> None:  # before the step
        if trainer.step % steps_per_epoch:
            update()

    def on_epoch(result: TrainingResult) -> None:
        update()
        for kind, found in best.items():
            with nullcontext() if kind == OFF else averages[kind].swap_in():
                loss = net.loss(architecture, validation)
                if loss < found["validation"]:
                    found["validation"], found["epoch"] = loss, result.epochs
                    found["test"] = net.loss(architecture, test)

    trainer.run(on_epoch, on_step)
    return best


def load(folder, name: str) -> tuple[LabelledTable, int]:
    """Return a table, or a sample of it, and the limit of its parameters."""
    if name in SMALL:
        dataset = load_dataset(name)
        return LabelledTable.from_table(dataset.table, dataset.target), SMALL[name]
    target, limit = TABLES[name]
    table = sample_table(folder, name, np.random.default_rng(0), MAX_ROWS)
    return LabelledTable.from_table(table, target), limit


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=[*TABLES, *SMALL])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    path = options.out / "weight_averaging.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"]) for row in rows}
    for seed in range(options.seeds * MORE_SEEDS):
        for name in options.tables:
            if (name, seed) in done or (name in TABLES and seed >= options.seeds):
                continue
            table, limit = load(options.data, name)
            settings = RunSettings(limits={"parameters": limit}, seed=seed, baselines=False)
            data = prepare_data(table, settings)
            for dimension in DIMENSIONS if data.task.inputs.embedded else (0,):
                network = widest(data.task, dimension, limit)
                if network is None:
                    continue
                rows.append(
                    {
                        "table": name,
                        "seed": seed,
                        "limit": limit,
                        "dimension": dimension,
                        "architecture": str(network),
                        "averages": measure(data, network, seed),
                    }
                )
            print(name, seed, flush=True)
            facts = collect_provenance(
                "python benchmarks/weight_averaging.py --data ... --out results"
            )
            write_results(
                options.out, "weight_averaging", facts | {"rows": rows}, report(facts, rows)
            )


def report(facts, rows) -> str:
    """Return the page."""
    horizons = [f"{epochs:g}" for epochs in HORIZONS]
    every = f"{FREQUENT:g} every step"
    lines = [
        "# Averages of weights",
        "",
        f"`{facts['command']}`, {facts['date']}. Networks of two equal layers, as wide as the "
        "limit allows, with numbers as they are and with numeric embeddings of dimension "
        f"{max(DIMENSIONS)}, on at most {MAX_ROWS:,} rows of each table, trained with the default "
        "settings; every seed has a split of its own. An average counts the weights of t epochs "
        "ago exp(-t / h) times; the columns are h. The validation rows choose the epoch of every "
        "column. Log loss, or mean squared error of the standardized target.",
        "",
        "## How far back",
        "",
        "Test loss without an average, and the change by one in percent, with the standard error "
        "over networks and seeds.",
        "",
        *_table(rows, horizons, "test"),
        "",
        "The same on validation rows, which have chosen the epochs:",
        "",
        *_table(rows, horizons, "validation"),
        "",
        "## How it begins, how often it is updated",
        "",
        "Test loss as above. Averages above are divided by the sum of their weights, as Adam's "
        "are. Here: the decay of update t is at most (1 + t) / (10 + t) instead (warm-up). The "
        f"last columns: h = {FREQUENT:g}, updated {UPDATES_PER_EPOCH} times an epoch but at most "
        f"every {MIN_STEPS_BETWEEN} steps, as above, or after every step.",
        "",
        *_table(rows, [f"{h} warm-up" for h in horizons] + [f"{FREQUENT:g}", every], "test"),
    ]
    return "\n".join(lines) + "\n"


def _table(rows, kinds, part) -> list[str]:
    lines = [
        f"| table | limit | trainings | epoch | off | {' | '.join(kinds)} |",
        f"|---|---|---|---|---|{'---|' * len(kinds)}",
    ]
    ratios = {kind: [] for kind in kinds}
    for name in dict.fromkeys(row["table"] for row in rows):
        of_table = [row for row in rows if row["table"] == name]
        off = np.array([row["averages"][OFF][part] for row in of_table])
        epoch = np.mean([row["averages"][OFF]["epoch"] for row in of_table])
        cells = []
        for kind in kinds:
            loss = np.array([row["averages"][kind][part] for row in of_table])
            change = 100.0 * (loss - off) / off.mean()
            error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
            cells.append(f"{change.mean():+.2f} ± {error:.2f}")
            ratios[kind].append(loss.mean() / off.mean())
        lines.append(
            f"| {name} | {of_table[0]['limit']:,} | {len(off)} | {epoch:.0f} | {off.mean():.4f} | "
            + " | ".join(cells)
            + " |"
        )
    means = [f"{100.0 * (np.exp(np.mean(np.log(r))) - 1.0):+.2f}" for r in ratios.values()]
    return [*lines, f"| geometric mean | | | | | {' | '.join(means)} |"]


if __name__ == "__main__":
    main()
