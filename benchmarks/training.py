"""Which optimiser, learning rate, batch and number of epochs serve every table.

    python benchmarks/training.py --data tables --out results

For every table, setting and seed: one network trained on the training part, its weights of the best
epoch on the validation part kept, its loss on the test part. Losses are compared within a table, on
the same splits; what counts over tables is the loss relative to the best setting of the table.
"""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path

import numpy as np
from _shared import make_parser, sample_table

from tabnas.data import Shares, TableEncoder, fit_target, load_dataset, split_random
from tabnas.errors import TabNASError
from tabnas.nets import (
    SGD,
    Adam,
    Cosine,
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    SuperNet,
    TrainingSettings,
    train,
)
from tabnas.paper import collect_provenance
from tabnas.space import Architecture

TABLES = {
    "adult": "income",
    "california_housing": "MedHouseVal",
    "connect4": "outcome",
    "covertype": "cover_type",
    "criteo": "label",
    "higgs": "signal",
    "letter": "letter",
    "sleep": "stage",
}
SMALL = ("breast_cancer", "diabetes", "digits", "iris", "wine")
MAX_ROWS = 60_000
LOSSES = {"binary": "logistic", "multiclass": "softmax", "regression": "squared_error"}
OPTIMIZERS = {
    "Adam 0.001": (Adam(), 0.001),
    "Adam 0.003": (Adam(), 0.003),
    "Adam 0.01": (Adam(), 0.01),
    "AdamW 0.003, 0.03": (Adam(weight_decay=0.03), 0.003),
    "AdamW 0.003, 0.3": (Adam(weight_decay=0.3), 0.003),
    "AdamW 0.003, 1.0": (Adam(weight_decay=1.0), 0.003),
    "AdamW 0.005, 0.3": (Adam(weight_decay=0.3), 0.005),
    "AdamW 0.01, 0.03": (Adam(weight_decay=0.03), 0.01),
    "AdamW 0.01, 0.1": (Adam(weight_decay=0.1), 0.01),
    "AdamW 0.01, 0.3": (Adam(weight_decay=0.3), 0.01),
    "AdamW 0.02, 0.1": (Adam(weight_decay=0.1), 0.02),
    "SGD 0.02": (SGD(momentum=0.9), 0.02),
    "SGD 0.05": (SGD(momentum=0.9), 0.05),
}
DEFAULT = "AdamW 0.01, 0.1"
BATCHES = (32, 64, 128)
EPOCHS = 40
GRID = [
    *product(OPTIMIZERS, BATCHES, [EPOCHS]),
    *product([DEFAULT], [64], [10, 20, 80]),
]


def load(folder: Path, name: str, seed: int):
    """The three parts of a table, as examples."""
    rng = np.random.default_rng(seed)
    if name in SMALL:
        dataset = load_dataset(name)
        table, target = dataset.table, dataset.target
    else:
        table, target = sample_table(folder, name, rng, MAX_ROWS), TABLES[name]
    fitted = fit_target(
        target, table.column(target), task="classification" if name == "letter" else None
    )
    y = fitted.encode(table.column(target))
    table = table.drop([target])
    split = split_random(len(table), Shares(), rng)
    encoder = TableEncoder.fit(table.take(split.train))
    encoded = encoder.encode(table)
    embeddings = [Embedding(categories=c, dimension=min(8, c)) for c in encoder.n_categories]
    inputs = Inputs(numeric=encoded.numeric.shape[1], category_embeddings=embeddings)
    spec = NetworkSpec(inputs=inputs, loss=LOSSES[fitted.task], outputs=fitted.outputs)

    def part(rows):
        some = encoded.take(rows)
        return Examples(spec, numeric=some.numeric, categorical=some.categorical, target=y[rows])

    return part(split.train), part(split.validation), part(split.test)


def test_loss(parts, child: Architecture, setting, seed: int) -> dict[str, float]:
    """The loss on the test part of one network, infinite if its training breaks down."""
    (optimizer, rate), batch, epochs = setting
    training, validation, test = parts
    net = SuperNet.standalone(child, training.spec, optimizer=optimizer, seed=seed)
    plan = TrainingSettings(epochs=epochs, batch_size=batch, schedule=Cosine(rate), seed=seed)
    began = time.perf_counter()
    try:
        result = train(net, child, training, plan, validation)
    except TabNASError:
        return {"loss": float("inf"), "best_epoch": 0, "seconds": 0.0}
    seconds = time.perf_counter() - began
    return {
        "loss": net.loss(child, test),
        "best_epoch": result.best_epoch,
        "seconds": seconds,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", nargs="*", default=[*TABLES, *SMALL])
    options = parser.parse_args()
    child = Architecture((64, 32, 32))
    path = options.out / "training.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(r["table"], r["seed"], r["optimizer"], r["batch"], r["epochs"]) for r in rows}
    for name in options.tables:
        for seed in range(options.seeds):
            parts = load(options.data, name, seed)
            for optimizer, batch, epochs in GRID:
                if (name, seed, optimizer, batch, epochs) in done:
                    continue
                setting = (OPTIMIZERS[optimizer], batch, epochs)
                losses = test_loss(parts, child, setting, seed)
                rows.append(
                    {
                        "table": name,
                        "rows": len(parts[0]),
                        "seed": seed,
                        "optimizer": optimizer,
                        "batch": batch,
                        "epochs": epochs,
                    }
                    | losses
                )
        print(name, flush=True)
        origin = collect_provenance("python benchmarks/training.py --data ... --out results")
        path.write_text(json.dumps(origin | {"rows": rows}, indent=0) + "\n")
    (options.out / "training.md").write_text(report(origin, rows, options.tables, options.seeds))


def report(origin, rows, tables, seeds: int) -> str:
    """The tables, for people."""

    def mean(name, setting, what="loss") -> float:
        losses = [
            row[what]
            for row in rows
            if row["table"] == name and (row["optimizer"], row["batch"], row["epochs"]) == setting
        ]
        return float(np.mean(losses))

    best = {name: min(mean(name, s) for s in GRID if s[2] == EPOCHS) for name in tables}
    relative = {s: [mean(name, s) / best[name] for name in tables] for s in GRID}

    def line(setting) -> str:
        optimizer, batch, epochs = setting
        values = relative[setting]
        seconds = np.mean([mean(name, setting, "seconds") for name in tables])
        cells = " | ".join(f"{value:.3f}" for value in values)
        typical = float(np.exp(np.mean(np.log(values))))
        return f"| {optimizer} | {batch} | {epochs} | {cells} | **{typical:.3f}** | {seconds:.2f} |"

    head = [
        "| optimiser, rate, decay | batch | epochs | " + " | ".join(tables) + " | mean | seconds |",
        "|---|---|---|" + "---|" * (len(tables) + 2),
    ]
    ranked = sorted(
        (s for s in GRID if s[2] == EPOCHS), key=lambda s: float(np.mean(np.log(relative[s])))
    )
    lengths = sorted((s for s in GRID if s[:2] == (DEFAULT, 64)), key=lambda s: s[2])
    lines = [
        "# How to train",
        "",
        f"`{origin['command']}`, {origin['date']}. "
        f"Test loss of a 64-32-32 network, mean of {seeds} seeds, relative to the best setting of "
        "the table at 40 epochs; cosine schedule, weights "
        "of the best epoch on validation rows kept. The mean is geometric, the first table sorted.",
        "",
        *head,
        *map(line, ranked),
        "",
        "Epochs, with the default optimiser (relative to the same best):",
        "",
        *head,
        *map(line, lengths),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
