"""What teachers are worth.

    python benchmarks/teachers.py --data tables --out results

Each table is searched with the default settings and, on the same split, with `teacher="none"`.
Beside them the boosted trees that a run compares with, which have no limit, and scikit-learn's
network of the same size (see tables.py). An interrupted benchmark goes on where it was.
"""

from __future__ import annotations

import json
import warnings
from time import perf_counter

import numpy as np
from _shared import make_parser, write_results
from tables import TABLES, fit_mlp

from tabnas.data import read_table
from tabnas.model import score
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run

ORDER = (  # quick ones first
    "nats_bench_size_cifar10", "california_housing", "criteo", "letter", "higgs", "adult", "sleep",
    "connect4", "covertype",
)  # fmt: skip
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
        "share": finished.chosen.lesson.share,
        "teachers": {model.name: model.share for model in teacher.models} if teacher else {},
        "timings": finished.phase_seconds,
        "seconds": seconds,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(ORDER))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    path = options.out / "teachers.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"], row["kind"]) for row in rows}
    command = "python benchmarks/teachers.py --data ... --out results"
    for seed in range(options.seeds):
        for name in options.tables:
            if {(name, seed, kind) for kind in KINDS} <= done:
                continue
            table = read_table(options.data / f"{name}.parquet")
            data = LabelledTable.from_table(table, TABLES[name][0])
            for kind in KINDS:
                if (name, seed, kind) not in done:
                    rows.append(execute(name, data, seed, kind))
                    row = rows[-1]
                    print(name, seed, kind, row["losses"], f"{row['seconds']:.0f} s", flush=True)
            facts = collect_provenance(command)
            write_results(options.out, "teachers", facts | {"rows": rows}, report(facts, rows))


def report(facts, rows) -> str:
    """Return the page."""
    lines = [
        "# Teachers",
        "",
        f"`{facts['command']}`, {facts['date']}. Default searches with the limits of "
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
        pairs = _pairs(rows, name)
        if not pairs:
            continue
        taught = np.array([pair["auto"]["losses"]["network"] for pair in pairs])
        alone = np.array([pair["none"]["losses"]["network"] for pair in pairs])
        change = taught - alone
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
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
            f"{change.mean():+.4f} ± {error:.4f} | "
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
        "Seconds of the whole run, medians over seeds, one thread.",
        "",
        "| table | by labels alone | with a teacher | ratio |",
        "|---|---|---|---|",
        *(f"| {name} | {b:.1f} | {a:.1f} | {a / b:.2f} |" for name, a, b in times),
    ]
    return "\n".join(lines) + "\n"


def _pairs(rows, name):
    """Return the rows of a table by seed: a dictionary by kind for each seed that has both."""
    seeds = sorted({row["seed"] for row in rows if row["table"] == name})
    pairs = [
        {row["kind"]: row for row in rows if (row["table"], row["seed"]) == (name, seed)}
        for seed in seeds
    ]
    return [pair for pair in pairs if len(pair) == len(KINDS)]


if __name__ == "__main__":
    main()
