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
from time import process_time

import numpy as np
from _shared import make_parser, sample_table, write_results
from embedding_rules import rows_for, widest
from tables import TABLES

from tabnas.data import load_dataset
from tabnas.nets import Cosine, SuperNet, Trainer, TrainingResult, TrainingSettings
from tabnas.nets._weight_average import MIN_STEPS_BETWEEN, UPDATES_PER_EPOCH, WeightAverage
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings
from tabnas.runs.plan._default_plan import (
    AVERAGING,
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
TIMED, TIMINGS = ("iris", "digits", "criteo", "california_housing", "adult"), 5
MORE_SEEDS = 10
"""Small tables have so many times more seeds: their few test rows say little."""
FIRST_FRESH_SEED, FIRST_FRESH_SEED_OF_SMALL = 3, 15
"""The default was chosen by the losses of the seeds before."""


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


def make_trainer(data, architecture, validation=None, **settings) -> Trainer:
    """Return a training with the default settings, without validation unless it is passed."""
    rows = rows_for(data.spec, data.train_in_memory)
    batch_size = default_batch_size(len(rows))
    training = TrainingSettings(
        epochs=default_epochs(len(rows), batch_size), batch_size=batch_size,
        schedule=Cosine(LEARNING_RATE), **settings,
    )  # fmt: skip
    net = SuperNet.standalone(architecture, data.spec, optimizer=OPTIMIZER, seed=training.seed)
    return Trainer(net, architecture, rows, training, validation)


def time_trainings(data, architecture) -> dict[str, float]:
    """Return the processor seconds of a training with and without an average, the best of some."""
    validation = rows_for(data.spec, data.validation)
    seconds = {OFF: inf, "on": inf}
    for _ in range(TIMINGS):
        for kind, averaging in ((OFF, 0.0), ("on", AVERAGING)):
            trainer = make_trainer(data, architecture, validation, averaging=averaging)
            began = process_time()
            trainer.run()
            seconds[kind] = min(seconds[kind], process_time() - began)
    return seconds


def measure(data, architecture, seed: int) -> dict[str, dict[str, float]]:
    """Train once; return the best epoch of every average, and its losses."""
    validation, test = (rows_for(data.spec, part) for part in (data.validation, data.test))
    trainer = make_trainer(data, architecture, seed=seed)
    net, settings = trainer.net, trainer.settings
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
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    path = options.out / "weight_averaging.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    rows, costs = before.get("rows", []), before.get("costs", [])

    def write() -> None:
        origin = collect_provenance(
            "python benchmarks/weight_averaging.py --data ... --out results"
        )
        content = origin | {"costs": costs, "rows": rows}
        write_results(options.out, "weight_averaging", content, report(origin, rows, costs))

    done = {(row["table"], row["seed"]) for row in rows}
    for seed in range(options.seeds * MORE_SEEDS):
        for name in options.tables:
            if (name, seed) in done or (name in TABLES and seed >= options.seeds):
                continue
            table, limit = load(options.data, name)
            settings = RunSettings(limits={"parameters": limit}, seed=seed, reference_models=False)
            data = prepare_data(table, settings)
            for dimension in DIMENSIONS if data.spec.inputs.embedded_numeric else (0,):
                network = widest(data.spec, dimension, limit)
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
            write()
    for name in TIMED:
        if name in {cost["table"] for cost in costs} or name not in options.tables:
            continue
        table, limit = load(options.data, name)
        data = prepare_data(
            table, RunSettings(limits={"parameters": limit}, reference_models=False)
        )
        network = widest(data.spec, 0, limit)
        costs.append({"table": name, "architecture": str(network), **time_trainings(data, network)})
        print(costs[-1], flush=True)
    write()


def report(origin, rows, costs) -> str:
    """Return the page."""
    horizons = [f"{epochs:g}" for epochs in HORIZONS]
    every = f"{FREQUENT:g} every step"
    fresh = [row for row in rows if is_fresh(row)]
    rows = [row for row in rows if not is_fresh(row)]
    lines = [
        "# Averages of weights",
        "",
        f"`{origin['command']}`, {origin['date']}. Networks of two equal layers, as wide as the "
        "limit allows, with numbers as they are and with numeric embeddings of dimension "
        f"{max(DIMENSIONS)}, on at most {MAX_ROWS:,} rows of each table, trained with the default "
        "settings; every seed has a split of its own. An average counts the weights of t epochs "
        "ago exp(-t / h) times; the columns are h. The validation rows choose the epoch of every "
        "column. Log loss, or mean squared error of the standardized target.",
        "",
        "## How far back",
        "",
        "Test loss without an average, and the change by one in percent, with the standard error "
        "over seeds, of which three say little about it.",
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
    if fresh:
        lines += [
            "",
            "## Fresh seeds",
            "",
            f"The default, h = {AVERAGING:g}, was chosen by the tables above, among eleven "
            "averages and by test losses, so they flatter it. Test loss of seeds, and thus of "
            "splits, that were trained after the choice:",
            "",
            *_table(fresh, horizons, "test"),
        ]
    if costs:
        lines += [
            "",
            "## What it costs",
            "",
            f"Processor seconds of a training with validation, the best of {TIMINGS}, without an "
            f"average and with h = {AVERAGING:g}.",
            "",
            "| table | network | off | on | more |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {cost['table']} | {cost['architecture']} | {cost[OFF]:.3f} | {cost['on']:.3f} | "
            f"{100.0 * (cost['on'] / cost[OFF] - 1.0):+.0f} % |"
            for cost in costs
        ]
    return "\n".join(lines) + "\n"


def is_fresh(row) -> bool:
    """Return whether a row was measured after the default was chosen."""
    first = FIRST_FRESH_SEED_OF_SMALL if row["table"] in SMALL else FIRST_FRESH_SEED
    return row["seed"] >= first


def _table(rows, kinds, part) -> list[str]:
    lines = [
        f"| table | limit | network | seeds | epoch | off | {' | '.join(kinds)} |",
        f"|---|---|---|---|---|---|{'---|' * len(kinds)}",
    ]
    ratios = {kind: [] for kind in kinds}
    networks = {(row["table"], row["dimension"]) for row in rows}
    order = [(name, d) for name in (*TABLES, *SMALL) for d in DIMENSIONS if (name, d) in networks]
    for name, dimension in order:
        same = [row for row in rows if (row["table"], row["dimension"]) == (name, dimension)]
        off = np.array([row["averages"][OFF][part] for row in same])
        epoch = np.mean([row["averages"][OFF]["epoch"] for row in same])
        cells = []
        for kind in kinds:
            loss = np.array([row["averages"][kind][part] for row in same])
            change = 100.0 * (loss - off) / off.mean()
            error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
            cells.append(f"{change.mean():+.2f} ± {error:.2f}")
            ratios[kind].append(loss.mean() / off.mean())
        lines.append(
            f"| {name} | {same[0]['limit']:,} | {same[0]['architecture']} | {len(off)} | "
            f"{epoch:.0f} | {off.mean():.4f} | " + " | ".join(cells) + " |"
        )
    means = [f"{100.0 * (np.exp(np.mean(np.log(r))) - 1.0):+.2f}" for r in ratios.values()]
    return [*lines, f"| geometric mean | | | | | | {' | '.join(means)} |"]


if __name__ == "__main__":
    main()
