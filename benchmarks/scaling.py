"""Which scaling of numeric columns serves networks best, on real tables.

    python benchmarks/scaling.py --data tables --out results

For every table, scaling and seed: the columns encoded by the scaling, a network of one architecture
trained with early stopping, its loss on the test part. Scores are compared within a table and seed,
on the same split; what counts is the rank, and the loss relative to the best. Quantile scaling (to
a normal distribution, by scikit-learn) is there for comparison; it is not one of the encoder's.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from _shared import make_parser
from sklearn.preprocessing import QuantileTransformer

from tabnas.data import Shares, TableEncoder, fit_target, read_table, split_random
from tabnas.nets import (
    Adam,
    Cosine,
    EarlyStopping,
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

TABLES = {  # target, and how many rows at most
    "adult": ("income", 50_000),
    "california_housing": ("MedHouseVal", 50_000),
    "covertype": ("cover_type", 60_000),
    "criteo": ("label", 50_000),
    "higgs": ("signal", 50_000),
    "letter": ("letter", 50_000),
    "sleep": ("stage", 50_000),
}
SCALINGS = ("robust", "standard", "quantile", "none")
LOSSES = {"binary": "logistic", "multiclass": "softmax", "regression": "squared_error"}


def load(folder: Path, name: str, seed: int):
    """Features, target and split of a table."""
    target, rows = TABLES[name]
    table = read_table(folder / f"{name}.parquet")
    if target not in table.names:
        target = table.names[-1]
    rng = np.random.default_rng(seed)
    table = table.take(np.sort(rng.permutation(len(table))[:rows]))
    task = "classification" if name == "letter" else None
    fitted = fit_target(target, table.column(target), task=task)
    return table.drop([target]), fitted, fitted.encode(table.column(target)), rng


def arrays(table, train_rows, scaling: str):
    """The encoded table, and the encoder."""
    known = "none" if scaling == "quantile" else scaling
    encoder = TableEncoder.fit(table.take(train_rows), scaling=known)
    encoded = encoder.encode(table)
    numeric = encoded.numeric
    if scaling == "quantile" and numeric.shape[1]:
        transform = QuantileTransformer(output_distribution="normal", n_quantiles=1_000)
        numeric = transform.fit(numeric[train_rows]).transform(numeric).astype(np.float32)
    return encoder, numeric, encoded.categorical


def test_loss(folder: Path, name: str, scaling: str, seed: int) -> float:
    """The loss on the test part of one network, infinite if its training breaks down."""
    table, target, y, rng = load(folder, name, seed)
    split = split_random(len(table), Shares(), rng)
    encoder, numeric, categorical = arrays(table, split.train, scaling)
    embeddings = [Embedding(categories=c, dimension=min(8, c)) for c in encoder.n_categories]
    spec = NetworkSpec(
        inputs=Inputs(numeric=numeric.shape[1], category_embeddings=embeddings),
        loss=LOSSES[target.task],
        outputs=target.outputs,
    )

    def part(rows):
        return Examples(spec, numeric=numeric[rows], categorical=categorical[rows], target=y[rows])

    child = Architecture((64, 64, 32))
    net = SuperNet.standalone(child, spec, optimizer=Adam(), seed=seed)
    training = TrainingSettings(
        epochs=40,
        batch_size=128,
        schedule=Cosine(0.003),
        seed=seed,
        early_stopping=EarlyStopping(patience=8),
    )
    train(net, child, part(split.train), training, part(split.validation))
    return net.loss(child, part(split.test))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    losses = {}
    for name in TABLES:
        losses[name] = {
            scaling: [test_loss(options.data, name, scaling, s) for s in range(options.seeds)]
            for scaling in SCALINGS
        }
        print(name, {s: round(float(np.mean(v)), 4) for s, v in losses[name].items()}, flush=True)
    origin = collect_provenance("python benchmarks/scaling.py --data ... --out results")
    means = np.array([[np.mean(losses[t][s]) for s in SCALINGS] for t in TABLES])
    ranks = np.array(
        [
            [
                np.argsort(np.argsort([losses[t][s][k] for s in SCALINGS])) + 1
                for k in range(options.seeds)
            ]
            for t in TABLES
        ]
    ).mean(axis=(0, 1))
    (options.out / "scaling.json").write_text(
        json.dumps(origin | {"losses": losses}, indent=2) + "\n"
    )
    lines = [
        "# Scaling of numeric columns",
        "",
        f"`{origin['command']}`, {origin['date']}. Mean test loss of a 64-64-32 network over "
        f"{options.seeds} seeds; the same splits for every scaling.",
        "",
        "| table | " + " | ".join(SCALINGS) + " |",
        "|---|" + "---|" * len(SCALINGS),
        *(
            f"| {t} | " + " | ".join(f"{value:.4f}" for value in row) + " |"
            for t, row in zip(TABLES, means, strict=True)
        ),
        "| relative to the best, mean | "
        + " | ".join(f"{v:.3f}" for v in (means / means.min(axis=1, keepdims=True)).mean(axis=0))
        + " |",
        "| rank, mean | " + " | ".join(f"{rank:.2f}" for rank in ranks) + " |",
    ]
    (options.out / "scaling.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
