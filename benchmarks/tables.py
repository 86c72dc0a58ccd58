"""One command on every table, beside scikit-learn's own network of the same size.

    python benchmarks/tables.py --data tables --out results

Each table is searched with no options but the target and the limit. On the same split,
scikit-learn's MLPClassifier or MLPRegressor, its defaults but for early stopping, which is on, and
at most as many epochs as ours take, with one hidden layer as wide as the parameters of the found
network allow, on the same encoded inputs, categories one-hot where that keeps the size, else
ordinal. Scores are on the test part.
"""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np
from _shared import make_parser, write_results
from sklearn.neural_network import MLPClassifier, MLPRegressor

from tabnas.data import ClassTarget, read_table
from tabnas.decoding import to_builtins
from tabnas.model import score
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run

TABLES = {
    "adult": ("income", 5_000),
    "california_housing": ("MedHouseVal", 3_000),
    "connect4": ("outcome", 10_000),
    "covertype": ("cover_type", 20_000),
    "criteo": ("label", 20_000),
    "higgs": ("signal", 5_000),
    "letter": ("letter", 6_000),
    "nats_bench_size_cifar10": ("cifar10_test_accuracy_90_epochs", 2_000),
    "sleep": ("stage", 10_000),
}
"""The target of each table, and a limit on parameters."""
QUICK_FIRST = (
    "nats_bench_size_cifar10", "california_housing", "criteo", "letter", "higgs", "adult", "sleep",
    "connect4", "covertype",
)  # fmt: skip


def encode_inputs(prepared, part, parameters: int) -> np.ndarray:
    """Return numbers and categories, one-hot if four hidden units fit into the limit."""
    categories = prepared.encoder.n_categories
    numeric, codes = part.encoded.numeric, part.encoded.categorical
    width = numeric.shape[1] + sum(categories)
    if 4 * width > parameters:
        return np.concatenate(
            [numeric, codes / np.maximum(categories, 1)], axis=1, dtype=np.float32
        )
    hot = [np.eye(count, dtype=np.float32)[codes[:, k]] for k, count in enumerate(categories)]
    return np.concatenate([numeric, *hot], axis=1)


def fit_mlp(run, parameters: int):
    """Fit scikit-learn's network of about as many parameters; return predictions and a summary."""
    prepared = run.data
    train, test = (
        encode_inputs(prepared, part, parameters)
        for part in (prepared.train_and_validation, prepared.test)
    )
    outputs = prepared.spec.outputs
    width = max(1, int((parameters - outputs) / (train.shape[1] + 1 + outputs)))
    classes = isinstance(prepared.target, ClassTarget)
    kind = MLPClassifier if classes else MLPRegressor
    network = kind(
        hidden_layer_sizes=(width,),
        early_stopping=True,
        max_iter=run.plan.training.epochs,
        random_state=0,
    )
    y = prepared.target.scale_values(prepared.train_and_validation.y)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(train, y)
    seconds = perf_counter() - began
    if classes:
        shares = np.zeros((len(test), len(prepared.target.classes)))
        shares[:, network.classes_] = network.predict_proba(test).astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
    else:
        shares = prepared.target.unscale_values(network.predict(test))
    size = sum(w.size for w in network.coefs_) + sum(b.size for b in network.intercepts_)
    return shares, {"parameters": size, "width": width, "seconds": seconds}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    options = parser.parse_args()
    rows = []
    for name in options.tables:
        target, limit = TABLES[name]
        began = perf_counter()
        data = LabelledTable.from_table(read_table(options.data / f"{name}.parquet"), target)
        run = plan_run(data, RunSettings(limits={"parameters": limit}))
        finished = run.execute()
        seconds = perf_counter() - began
        test = run.data.test
        predicted, mlp = fit_mlp(run, int(finished.model.costs["parameters"]))
        scores = {kind: to_builtins(scores) for kind, scores in finished.scores.items()}
        scores["scikit-learn MLP"] = to_builtins(score(run.data.target, test.y, predicted))
        rows.append(
            {
                "table": name,
                "limit": limit,
                "architecture": str(finished.model.architecture),
                "parameters": finished.model.costs["parameters"],
                "metric": "rmse" if run.data.target.task == "regression" else "log_loss",
                "seconds": seconds,
                "timings": finished.phase_seconds,
                "mlp": mlp,
                "scores": scores,
            }
        )
        print(name, rows[-1]["architecture"], round(seconds, 1), flush=True)
        origin = collect_provenance("python benchmarks/tables.py --data ... --out results")
        write_results(options.out, "tables", origin | {"rows": rows}, report(origin, rows))


def report(origin, rows) -> str:
    """Return the report."""
    kinds = ("network", "scikit-learn MLP", "boosted trees", "trivial")

    def cell(row, kind, metric) -> str:
        value = row["scores"][kind]["metrics"].get(metric)
        return "" if value is None else f"{value['value']:.4g}"

    lines = [
        "# Every table, one command",
        "",
        f"`{origin['command']}`, {origin['date']}. No options but the target and the limit. "
        "Log loss and accuracy, or RMSE and R², on test rows that nothing else saw. scikit-learn's "
        "MLP has one hidden layer and as many parameters as the found network.",
        "",
        "| table | limit | found | parameters | seconds | " + " | ".join(kinds) + " |",
        "|---|---|---|---|---|" + "---|" * len(kinds),
    ]
    for row in rows:
        second = "r2" if row["metric"] == "rmse" else "accuracy"
        cells = [f"{cell(row, kind, row['metric'])} / {cell(row, kind, second)}" for kind in kinds]
        lines.append(
            f"| {row['table']} | {row['limit']:,} | {row['architecture']} | "
            f"{row['parameters']:,} | {row['seconds']:.0f} | " + " | ".join(cells) + " |"
        )
    better = sum(
        row["scores"]["network"]["metrics"][row["metric"]]["value"]
        < row["scores"]["scikit-learn MLP"]["metrics"][row["metric"]]["value"]
        for row in rows
    )
    lines += [
        "",
        f"Better than scikit-learn's MLP of the same size on {better} of {len(rows)} tables.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
