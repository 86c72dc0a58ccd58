"""What numeric embeddings are worth.

    python benchmarks/numeric_embeddings.py --data tables --out results

Each table is searched with the default settings and, on the same split, with
`numeric_dimensions=(0,)`, which reads numbers as they are. An interrupted benchmark goes on where
it was.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from _shared import make_parser, measure_pairs, pair_by_seed
from tables import QUICK_FIRST, TABLES

from tabnas.runs import LabelledTable, RunSettings, plan_run

WITH_NUMBERS = [name for name in QUICK_FIRST if name != "connect4"]
KINDS = {"embeddings": None, "as they are": (0,)}


def execute(name: str, data: LabelledTable, seed: int, kind: str) -> dict[str, object]:
    """Search a table once; return the loss on test rows, and what is known of the candidates."""
    settings = RunSettings(
        limits={"parameters": TABLES[name][1]}, seed=seed, reference_models=False,
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
        "knots": sum(map(len, run.data.spec.inputs.knots)),
        "columns": len(run.data.spec.inputs.embedded_numeric),
        "candidates": [
            {
                "architecture": str(candidate.architecture),
                "dimension": candidate.architecture.dimension,
                "is_longer": candidate.is_longer,
                "loss": candidate.loss,
                "one_shot": one_shot,
            }
            for candidate, one_shot in zip(
                finished.candidates, finished.one_shot_losses, strict=True
            )
        ],
        "timings": finished.phase_seconds,
        "seconds": perf_counter() - began,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=WITH_NUMBERS)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    measure_pairs(options, "numeric_embeddings", TABLES, KINDS, execute, report)


def report(origin, rows) -> str:
    """Return the page."""
    lines = [
        "# Numeric embeddings",
        "",
        f"`{origin['command']}`, {origin['date']}. Default searches with the limits of "
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
        pairs = pair_by_seed(rows, name, KINDS)
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


def _work(row) -> float:
    return row["timings"]["search"] + row["timings"]["candidates"]


if __name__ == "__main__":
    main()
