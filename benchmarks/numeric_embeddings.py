"""What numeric embeddings are worth.

    python benchmarks/numeric_embeddings.py --data tables --out results

Each table is searched with the default settings and, on the same split, with
`numeric_dimensions=(0,)`, which reads numbers as they are. An interrupted benchmark goes on where
it was.
"""

from __future__ import annotations

import json
from time import perf_counter

import numpy as np
from _shared import make_parser, write_results
from tables import TABLES

from tabnas.data import read_table
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run

ORDER = (  # quick ones first; connect4 has no numbers
    "nats_bench_size_cifar10", "california_housing", "criteo", "letter", "higgs", "adult", "sleep",
    "covertype",
)  # fmt: skip
KINDS = {"embeddings": None, "as they are": (0,)}


def execute(name: str, data: LabelledTable, seed: int, kind: str) -> dict[str, object]:
    """Search a table once; return the loss on test rows, and what is known of the candidates."""
    settings = RunSettings(
        limits={"parameters": TABLES[name][1]}, seed=seed, baselines=False,
        numeric_dimensions=KINDS[kind],
    )  # fmt: skip
    began = perf_counter()
    run = plan_run(data, settings)
    finished = run.execute()
    metric = finished.metric.name
    return {
        "table": name,
        "seed": seed,
        "kind": kind,
        "metric": metric,
        "loss": finished.scores["network"].metrics[metric].value,
        "architecture": str(finished.model.architecture),
        "parameters": finished.model.costs["parameters"],
        "knots": sum(map(len, run.data.task.inputs.knots)),
        "columns": len(run.data.task.inputs.embedded),
        "candidates": [
            {
                "architecture": str(candidate.architecture),
                "dimension": candidate.architecture.dimension,
                "loss": candidate.loss,
                "one_shot": one_shot,
            }
            for candidate, one_shot in zip(finished.candidates, finished.one_shot, strict=True)
        ],
        "timings": finished.phase_seconds,
        "seconds": perf_counter() - began,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(ORDER))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    path = options.out / "numeric_embeddings.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"], row["kind"]) for row in rows}
    command = "python benchmarks/numeric_embeddings.py --data ... --out results"
    for seed in range(options.seeds):
        for name in options.tables:
            if {(name, seed, kind) for kind in KINDS} <= done:
                continue
            table = read_table(options.data / f"{name}.parquet")
            data = LabelledTable.from_table(table, TABLES[name][0])
            for kind in KINDS:
                if (name, seed, kind) not in done:
                    rows.append(execute(name, data, seed, kind))
                    print(*(rows[-1][key] for key in ("table", "seed", "kind", "loss")), flush=True)
            facts = collect_provenance(command)
            write_results(
                options.out, "numeric_embeddings", facts | {"rows": rows}, report(facts, rows)
            )


def report(facts, rows) -> str:
    """Return the page."""
    lines = [
        "# Numeric embeddings",
        "",
        f"`{facts['command']}`, {facts['date']}. Default searches with the limits of "
        "[tables.md](tables.md), with numeric embeddings and with numbers as they are, on the same "
        "splits. Log loss, or RMSE, on test rows that nothing else saw; mean over seeds, and the "
        "mean of the paired differences with its standard error. Seconds are those of search and "
        "candidates.",
        "",
        "| table | seeds | as they are | with embeddings | difference | dimensions chosen | "
        "seconds | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    names = list(dict.fromkeys(row["table"] for row in rows))
    for name in names:
        pairs = _pairs(rows, name)
        losses = np.array([[pair[kind]["loss"] for kind in KINDS] for pair in pairs])
        change = losses[:, 0] - losses[:, 1]
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
        chosen = sorted(
            int(pair["embeddings"]["architecture"].split("-")[0].removeprefix("d"))
            if pair["embeddings"]["architecture"].startswith("d")
            else 0
            for pair in pairs
        )
        seconds = [
            np.median([_work(pair[kind]) for pair in pairs])
            for kind in ("as they are", "embeddings")
        ]
        lines.append(
            f"| {name} | {len(pairs)} | {losses[:, 1].mean():.4f} | {losses[:, 0].mean():.4f} | "
            f"{change.mean():+.4f} ± {error:.4f} | {', '.join(map(str, chosen))} | "
            f"{seconds[0]:.1f} | {seconds[1]:.1f} |"
        )
    return "\n".join(lines) + "\n"


def _pairs(rows, name):
    """Return the rows of a table by seed: a dictionary by kind for each seed that has both."""
    seeds = sorted({row["seed"] for row in rows if row["table"] == name})
    pairs = [
        {row["kind"]: row for row in rows if (row["table"], row["seed"]) == (name, seed)}
        for seed in seeds
    ]
    return [pair for pair in pairs if len(pair) == len(KINDS)]


def _work(row) -> float:
    return row["timings"]["search"] + row["timings"]["candidates"]


if __name__ == "__main__":
    main()
