"""The rules of embeddings: knots of numeric columns, dimensions of categorical ones.

    python benchmarks/embedding_rules.py --data tables --out results

Networks of two equal layers, as wide as the limit allows, are trained stand-alone with the default
settings; the validation rows choose the epoch. At equal size, more knots or dimensions leave less
for the layers.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from _shared import make_parser, sample_table, write_results
from tables import TABLES

from tabnas.data import choose_knots, summarize_values
from tabnas.nets import (
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
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.space import COSTS, Architecture, SearchSpace

MAX_ROWS = 40_000
KNOTS, DIMENSION = (4, 8, 16, 32, 64), 2
CAPS = (1, 2, 4, 8)
WITH_NUMBERS = [name for name in TABLES if name != "connect4"]
WITH_CATEGORIES = ["adult", "connect4", "criteo"]


def rows_for(spec: NetworkSpec, rows) -> Examples:
    """Return prepared rows as examples of another spec."""
    before = rows.examples
    return Examples(
        spec, numeric=before.numeric, categorical=before.categorical, target=before.target
    )


def widest(spec: NetworkSpec, dimension: int, limit: int) -> Architecture | None:
    """Return the widest network of two equal layers within the limit, None if there is none."""
    inputs = spec.inputs
    space = SearchSpace(
        [[0]], inputs=inputs.width, outputs=spec.outputs,
        embedding_parameters=inputs.embedding_parameters,
        numeric_embeddings=inputs.numeric_embeddings(),
    )  # fmt: skip
    width = 0
    while COSTS["parameters"](space, Architecture((width + 1,) * 2, dimension)) <= limit:
        width += 1
    return Architecture((width,) * 2, dimension) if width > 1 else None


def losses(run, inputs: Inputs, dimension: int, limit: int, seeds: int) -> dict[str, object] | None:
    """Train networks with these inputs; return their losses on test rows."""
    spec = NetworkSpec(inputs=inputs, loss=run.data.spec.loss, outputs=run.data.spec.outputs)
    architecture = widest(spec, dimension, limit)
    if architecture is None:
        return None
    train_rows, validation, test = (
        rows_for(spec, rows)
        for rows in (run.data.train_in_memory, run.data.validation, run.data.test)
    )
    plan, found = run.plan, []
    for seed in range(seeds):
        net = SuperNet.standalone(architecture, spec, optimizer=plan.optimizer, seed=seed)
        settings = TrainingSettings(
            epochs=plan.training.epochs, batch_size=plan.training.batch_size,
            schedule=Cosine(plan.training.schedule.learning_rate), seed=seed,
        )  # fmt: skip
        train(net, architecture, train_rows, settings, validation)
        found.append(net.loss(architecture, test))
    return {"architecture": str(architecture), "losses": found}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for name, (target, limit) in TABLES.items():
        table = sample_table(options.data, name, np.random.default_rng(0), MAX_ROWS)
        data = LabelledTable.from_table(table, target)
        run = plan_run(data, RunSettings(limits={"parameters": limit}, reference_models=False))
        before = run.data.spec.inputs
        summaries = summarize_values(run.data.train_in_memory.examples.numeric)
        cases = []
        if name in WITH_NUMBERS:
            cases += [("knots", 0, before.category_embeddings, before.knots, 0)]
            cases += [
                (
                    "knots",
                    k,
                    before.category_embeddings,
                    [choose_knots(s, k) for s in summaries],
                    DIMENSION,
                )
                for k in KNOTS
            ]
        if name in WITH_CATEGORIES:
            dimension = DIMENSION if before.embedded_numeric else 0
            cases += [
                (
                    "categories", cap,
                    [
                        Embedding(categories=c, dimension=min(cap, ceil(sqrt(c))))
                        for c in (embedding.categories for embedding in before.category_embeddings)
                    ],
                    before.knots, dimension,
                )
                for cap in CAPS
            ]  # fmt: skip
        for part, value, embeddings, knots, dimension in cases:
            inputs = Inputs(numeric=before.numeric, category_embeddings=embeddings, knots=knots)
            result = losses(run, inputs, dimension, limit, options.seeds)
            if result is not None:
                rows.append({"part": part, "table": name, "limit": limit, "value": value, **result})
                print(
                    part, name, value, result["architecture"], np.mean(result["losses"]), flush=True
                )
    origin = collect_provenance("python benchmarks/embedding_rules.py --data ... --out results")
    write_results(options.out, "embedding_rules", origin | {"rows": rows}, report(origin, rows))


def report(origin, rows) -> str:
    """Return the page."""
    lines = [
        "# The rules of embeddings",
        "",
        f"`{origin['command']}`, {origin['date']}. Networks of two equal layers, as wide as the "
        f"limit of [tables.md](tables.md) allows, on at most {MAX_ROWS:,} rows of each table. Log "
        "loss, or mean squared error of the standardized target, on test rows; mean and standard "
        "deviation over seeds.",
        "",
        "## Knots of numeric columns",
        "",
        f"Embeddings of dimension {DIMENSION}, with at most so many knots of each column; 0: "
        "numbers as they are.",
        "",
    ]
    lines += _table(rows, "knots", (0, *KNOTS))
    lines += [
        "",
        "## Dimensions of categorical embeddings",
        "",
        "A column of c categories has √c dimensions, rounded up, but at most so many.",
        "",
    ]
    return "\n".join([*lines, *_table(rows, "categories", CAPS)]) + "\n"


def _table(rows, part, values) -> list[str]:
    lines = [
        f"| table | limit | {' | '.join(map(str, values))} |",
        f"|---|---|{'---|' * len(values)}",
    ]
    for name in dict.fromkeys(row["table"] for row in rows if row["part"] == part):
        of_table = [row for row in rows if (row["part"], row["table"]) == (part, name)]
        found = {row["value"]: row["losses"] for row in of_table}
        cells = [
            f"{np.mean(found[v]):.4f} ± {np.std(found[v]):.4f}" if v in found else ""
            for v in values
        ]
        lines.append(f"| {name} | {of_table[0]['limit']:,} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
