"""What teachers are worth.

    python benchmarks/teachers.py --data tables --out results

Each table is searched with the default settings and, on the same split, with `teacher="none"`.
Beside them the boosted trees that a run compares with, which have no limit, and scikit-learn's
network of the same size (see tables.py). An interrupted benchmark goes on where it was.
"""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np
from _shared import make_parser, measure_pairs, pair_by_seed
from tables import QUICK_FIRST, TABLES, fit_mlp

from tabnas.model import score
from tabnas.runs import LabelledTable, RunSettings, plan_run

KINDS = ("auto", "none")


def execute(name: str, data: LabelledTable, seed: int, kind: str) -> dict[str, object]:
    """Search a table once; return losses on test rows, and what is known of the teacher."""
    settings = RunSettings(limits={"parameters": TABLES[name][1]}, seed=seed, teacher=kind)
    began = perf_counter()
    run = plan_run(data, settings)
    finished = run.execute()
    seconds = perf_counter() - began
    metric = finished.metric.name
    losses = {part: scores.metrics[metric].value for part, scores in finished.scores.items()}
    if kind == "auto":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prediction, _ = fit_mlp(run, finished.model.costs["parameters"])
        test = run.data.test
        assert test is not None
        scores = score(run.data.target, test.y, prediction, test.weight)
        losses["scikit-learn MLP"] = scores.metrics[metric].value
    teacher = finished.teacher
    return {
        "table": name,
        "seed": seed,
        "kind": kind,
        "metric": metric,
        "losses": losses,
        "architecture": str(finished.model.architecture),
        "parameters": finished.model.costs["parameters"],
        "share": finished.chosen.distillation.teacher_share,
        "teachers": {model.name: model.share for model in teacher.models} if teacher else {},
        "timings": finished.phase_seconds,
        "seconds": seconds,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(QUICK_FIRST))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    measure_pairs(options, "teachers", TABLES, KINDS, execute, report)


def report(origin, rows) -> str:
    """Return the page."""
    lines = [
        "# Teachers",
        "",
        f"`{origin['command']}`, {origin['date']}. Default searches with the limits of "
        "[tables.md](tables.md), with a teacher (`auto`) and by labels alone "
        "(`--teacher none`), on the same splits. Log loss, or RMSE, on test rows that nothing "
        "else saw; mean over seeds, "
        "and the mean of the paired differences with its standard error. Boosted trees are "
        "scikit-learn's, without a limit; scikit-learn's MLP has as many parameters as the "
        "network.",
        "",
        "| table | seeds | by labels alone | with a teacher | difference | teacher itself | "
        "boosted trees | scikit-learn MLP | shares of answers chosen | shares of trees |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    ahead = {"boosted trees": 0, "scikit-learn MLP": 0}
    names = list(dict.fromkeys(row["table"] for row in rows))
    times = []
    for name in names:
        pairs = pair_by_seed(rows, name, KINDS)
        if not pairs:
            continue
        taught = np.array([pair["auto"]["losses"]["network"] for pair in pairs])
        alone = np.array([pair["none"]["losses"]["network"] for pair in pairs])
        change = taught - alone
        difference = f"{change.mean():+.4f}"
        if len(change) > 1:
            difference += f" ± {change.std(ddof=1) / np.sqrt(len(change)):.4f}"
        others = {
            part: np.mean([pair["auto"]["losses"][part] for pair in pairs])
            for part in ("teacher", *ahead)
        }
        for part in ahead:
            ahead[part] += taught.mean() < others[part]
        shares = sorted(pair["auto"]["share"] for pair in pairs)
        trees = sorted(pair["auto"]["teachers"].get("trees", 0.0) for pair in pairs)
        lines.append(
            f"| {name} | {len(pairs)} | {alone.mean():.4f} | {taught.mean():.4f} | "
            f"{difference} | "
            + " | ".join(f"{value:.4f}" for value in others.values())
            + f" | {', '.join(f'{share:g}' for share in shares)} | "
            f"{', '.join(f'{share:g}' for share in trees)} |"
        )
        times.append((name, *(np.median([pair[k]["seconds"] for pair in pairs]) for k in KINDS)))
    lines += [
        "",
        f"With a teacher better than boosted trees without a limit on {ahead['boosted trees']} of "
        f"{len(times)} tables, and than scikit-learn's MLP of the same size on "
        f"{ahead['scikit-learn MLP']}.",
        "",
        "## Time",
        "",
        f"Seconds of the whole run, medians over seeds, {origin['machine']['cores']} cores.",
        "",
        "| table | by labels alone | with a teacher | ratio |",
        "|---|---|---|---|",
        *(f"| {name} | {b:.1f} | {a:.1f} | {a / b:.2f} |" for name, a, b in times),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
