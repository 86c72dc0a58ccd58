"""What teachers are worth on tables of a few hundred rows.

    python benchmarks/small_teachers.py --out results

The tables that come with scikit-learn are searched with a teacher (a wide network, as by default,
and together with trees) and, on the same split, without one. Small tables are cross-validated, so a
teacher is fitted for every pair of folds. An interrupted benchmark goes on where it was.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from _shared import measure_pairs, pair_by_seed

from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.runs.plan import _teacher_plan

TABLES = {  # the target and the limit
    "iris": ("target", 2_000),
    "wine": ("target", 2_000),
    "diabetes": ("target", 2_000),
    "breast_cancer": ("target", 2_000),
    "digits": ("target", 5_000),
}
KINDS = ("none", "network", "both")


def execute(name: str, data: LabelledTable, seed: int, kind: str) -> dict[str, object]:
    """Search a table once; return the loss on test rows."""
    settings = RunSettings(
        limits={"parameters": TABLES[name][1]},
        seed=seed,
        teacher="auto" if kind == "both" else kind,
        reference_models=False,
    )
    finished = plan_run(data, settings).execute()
    scores = finished.scores["network"]
    return {
        "table": name,
        "seed": seed,
        "kind": kind,
        "rows": len(data.y),
        "metric": finished.metric.name,
        "loss": scores[finished.metric.name].value,
        "architecture": str(finished.model.architecture),
        "share": finished.chosen.distillation.teacher_share,
        "teachers": [model.name for model in finished.teacher.models] if finished.teacher else [],
        "seconds": finished.total_seconds,
    }


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    _teacher_plan.MAX_TREES_RATIO = float("inf")  # else runs leave the trees out on small tables
    measure_pairs(options, "small_teachers", TABLES, KINDS, execute, report)


def report(origin, rows) -> str:
    """Return the page."""
    lines = [
        "# Teachers on small tables",
        "",
        f"`{origin['command']}`, {origin['date']}. "
        "Log loss, or RMSE, on test rows that nothing else saw: mean over seeds, and the mean of "
        "the paired differences to the same search by labels "
        "alone, with its standard error.",
        "",
        "| table | rows | seeds | by labels alone | wide network | difference | network and trees "
        "| difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["table"] for row in rows):
        pairs = pair_by_seed(rows, name, KINDS)
        if len(pairs) < 2:
            continue
        alone = np.array([pair["none"]["loss"] for pair in pairs])
        cells = [name, f"{pairs[0]['none']['rows']:,}", str(len(pairs)), f"{alone.mean():.4f}"]
        for kind in KINDS[1:]:
            taught = np.array([pair[kind]["loss"] for pair in pairs])
            change = taught - alone
            error = change.std(ddof=1) / np.sqrt(len(change))
            cells += [f"{taught.mean():.4f}", f"{change.mean():+.4f} ± {error:.4f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
