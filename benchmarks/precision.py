"""What 8-bit weights are worth within a limit on bytes.

    python benchmarks/precision.py --data tables --out results

Each table is searched with the default settings within 20 kB: with float32 weights, with int8
weights, and with the default, which chooses between them by the validation rows. An interrupted
benchmark goes on where it was.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from _shared import make_parser, measure_pairs, pair_by_seed
from tables import TABLES

from tabnas.runs import LabelledTable, RunSettings, plan_run

ORDER = (  # quick ones first
    "nats_bench_size_cifar10", "california_housing", "criteo", "letter", "higgs", "adult", "sleep",
    "connect4", "covertype",
)  # fmt: skip
KINDS = ("float32", "int8", "auto")
LIMIT = 20_000  # bytes


def execute(name: str, data: LabelledTable, seed: int, kind: str) -> dict[str, object]:
    """Search a table once; return its loss on test rows, and what rounding has changed."""
    settings = RunSettings(
        limits={"bytes": LIMIT}, seed=seed, precision=kind, reference_models=False
    )
    began = perf_counter()
    finished = plan_run(data, settings).execute()
    chosen, metric = finished.chosen, finished.metric.name
    return {
        "table": name,
        "seed": seed,
        "kind": kind,
        "metric": metric,
        "loss": finished.scores["network"].metrics[metric].value,
        "precision": str(chosen.precision),
        "validation_loss": chosen.loss,
        "validation_loss_before_rounding": chosen.float32_loss,
        "architecture": str(finished.model.architecture),
        "parameters": finished.model.costs["parameters"],
        "bytes": finished.model.costs["bytes"],
        "seconds": perf_counter() - began,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(ORDER))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    measure_pairs(options, "precision", TABLES, KINDS, execute, report)


def report(facts, rows) -> str:
    """Return the page."""
    lines = [
        "# Precision",
        "",
        f"`{facts['command']}`, {facts['date']}. Default searches within {LIMIT:,} bytes, on the "
        "same splits. Log loss, or RMSE, on test rows, mean over seeds; the difference is int8 "
        "less float32, paired, with its standard error. *Rounding* is what it changed on the "
        "validation rows, the largest of all seeds. `auto` is the default: the validation rows "
        "choose.",
        "",
        "| table | seeds | float32 | int8 | difference | rounding | auto | auto chose int8 | "
        "parameters, float32 | parameters, int8 |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["table"] for row in rows):
        pairs = pair_by_seed(rows, name, KINDS)
        if not pairs:
            continue
        losses = {kind: np.array([pair[kind]["loss"] for pair in pairs]) for kind in KINDS}
        change = losses["int8"] - losses["float32"]
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
        rounding = max(
            (
                pair["int8"]["validation_loss"] - pair["int8"]["validation_loss_before_rounding"]
                for pair in pairs
            ),
            key=abs,
        )
        chosen = sum(pair["auto"]["precision"] == "int8" for pair in pairs)
        sizes = [
            f"{np.mean([pair[kind]['parameters'] for pair in pairs]):,.0f}"
            for kind in ("float32", "int8")
        ]
        lines.append(
            f"| {name} | {len(pairs)} | {losses['float32'].mean():.4f} | "
            f"{losses['int8'].mean():.4f} | {change.mean():+.4f} ± {error:.4f} | {rounding:+.5f} | "
            f"{losses['auto'].mean():.4f} | {chosen} of {len(pairs)} | {' | '.join(sizes)} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
