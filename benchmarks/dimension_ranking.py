"""Whether one-shot losses rank the dimensions of numeric embeddings as stand-alone training does.

    python benchmarks/dimension_ranking.py --data tables --out results

A search on each table, then the networks of lowest one-shot loss of every dimension are trained
stand-alone, three of each: a sample of the ground truth where it matters. From these losses follows
what every rule of choosing candidates would have found. An interrupted benchmark goes on where it
was.
"""

from __future__ import annotations

import json

import numpy as np
from _shared import make_parser, sample_table, write_results
from scipy.stats import spearmanr
from tables import TABLES

from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.runs.candidates._candidate import Trial
from tabnas.runs.candidates._make_training import make_candidate_training
from tabnas.runs.candidates._train_candidates import run_training
from tabnas.search import Search
from tabnas.search._selection import (
    build_candidate_pool,
    compute_one_shot_losses,
    select_by_loss,
)

NAMES = ("letter", "california_housing", "adult", "higgs", "covertype")
MAX_ROWS = 40_000
EACH = 3  # networks of each dimension


def execute(name: str, data: LabelledTable, seed: int) -> list[dict[str, object]]:
    """Search a table, and train networks of every dimension stand-alone."""
    limit = TABLES[name][1]
    settings = RunSettings(limits={"parameters": limit}, seed=seed, reference_models=False)
    run = plan_run(data, settings)
    prepared, plan = run.data, run.plan
    search = Search(
        plan.feasible, prepared.train.examples, prepared.validation.examples, plan.search
    )
    search.run()
    pool = build_candidate_pool(search)
    losses = dict(zip(pool, compute_one_shot_losses(search, pool), strict=True))
    chosen = []
    for dimension in plan.feasible.space.layers[0]:
        same = [network for network in pool if network.dimension == dimension]
        chosen += select_by_loss(
            same, np.array([losses[network] for network in same]), EACH, plan.feasible
        )
    rules = {
        rule: [
            str(network)
            for network in select_by_loss(
                chosen, np.array([losses[n] for n in chosen]), len(chosen), plan.feasible,
                by_dimension=rule == "alternating",
            )
        ]
        for rule in ("by loss", "alternating")
    }  # fmt: skip
    rows = []
    for network in chosen:
        training = make_candidate_training(Trial(network), prepared, plan, run.metric)
        candidate = run_training(training)
        rows.append(
            {
                "table": name,
                "seed": seed,
                "architecture": str(network),
                "dimension": network.dimension,
                "one_shot": losses[network],
                "loss": candidate.loss,
                **{rule: order.index(str(network)) for rule, order in rules.items()},
            }
        )
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    path = options.out / "dimension_ranking.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"]) for row in rows}
    for seed in range(options.seeds):
        for name in options.tables:
            if (name, seed) in done:
                continue
            table = sample_table(options.data, name, np.random.default_rng(0), MAX_ROWS)
            rows += execute(name, LabelledTable.from_table(table, TABLES[name][0]), seed)
            print(name, seed, flush=True)
            origin = collect_provenance(
                "python benchmarks/dimension_ranking.py --data ... --out results"
            )
            write_results(
                options.out, "dimension_ranking", origin | {"rows": rows}, report(origin, rows)
            )


def report(origin, rows) -> str:
    """Return the page."""
    names = list(dict.fromkeys(row["table"] for row in rows))
    dimensions = sorted({row["dimension"] for row in rows})
    lines = [
        "# One-shot losses of dimensions",
        "",
        f"`{origin['command']}`, {origin['date']}. A search with the limits of "
        f"[tables.md](tables.md) on at most {MAX_ROWS:,} rows, then the {EACH} networks of lowest "
        "one-shot loss of each dimension of numeric embeddings, trained stand-alone. Losses on "
        "validation rows, by the metric of the run.",
        "",
        "## The best network of each dimension",
        "",
        "One-shot loss / loss stand-alone, mean over seeds; for regression the one-shot loss is "
        "the mean squared error of the standardized target. The last columns: Spearman's rank "
        "correlation of the two over all networks, and over networks of the same dimension.",
        "",
        f"| table | seeds | {' | '.join(map(str, dimensions))} | correlation | within |",
        "|---|---|" + "---|" * (len(dimensions) + 2),
    ]
    for name in names:
        groups = _groups(rows, name)
        cells = []
        for dimension in dimensions:
            best = [
                [
                    min(row[key] for row in group if row["dimension"] == dimension)
                    for group in groups
                ]
                for key in ("one_shot", "loss")
            ]
            cells.append(f"{np.mean(best[0]):.4f} / {np.mean(best[1]):.4f}")
        overall = np.mean([_correlation(group) for group in groups])
        within = np.nanmean(
            [
                _correlation([row for row in group if row["dimension"] == dimension])
                for group in groups
                for dimension in dimensions
            ]
        )
        lines.append(
            f"| {name} | {len(groups)} | {' | '.join(cells)} | {overall:.2f} | {within:.2f} |"
        )
    rules = {
        "3 by one-shot loss": lambda group: _first(group, "by loss", 3),
        "4 by one-shot loss": lambda group: _first(group, "by loss", 4),
        "3 alternating": lambda group: _first(group, "alternating", 3),
        "4 alternating (default)": lambda group: _first(group, "alternating", 4),
        "5 alternating": lambda group: _first(group, "alternating", 5),
        "best of each dimension": lambda group: [
            min((row for row in group if row["dimension"] == d), key=lambda row: row["one_shot"])
            for d in dimensions
        ],
        "all": lambda group: group,
    }
    lines += [
        "",
        "## What rules would have found",
        "",
        "The loss on validation rows of the best candidate of each rule. *Alternating*: with and "
        "without embeddings in turn, those with embeddings of different dimensions.",
        "",
        f"| table | {' | '.join(rules)} |",
        "|---|" + "---|" * len(rules),
    ]
    for name in names:
        groups = _groups(rows, name)
        found = [
            np.mean([min(row["loss"] for row in rule(group)) for group in groups])
            for rule in rules.values()
        ]
        lines.append(f"| {name} | {' | '.join(f'{loss:.4f}' for loss in found)} |")
    return "\n".join(lines) + "\n"


def _groups(rows, name):
    seeds = sorted({row["seed"] for row in rows if row["table"] == name})
    return [[row for row in rows if (row["table"], row["seed"]) == (name, s)] for s in seeds]


def _first(group, rule, n):
    return [row for row in group if row[rule] < n]


def _correlation(group) -> float:
    if len(group) < 3:
        return float("nan")
    return float(
        spearmanr([row["one_shot"] for row in group], [row["loss"] for row in group]).statistic
    )


if __name__ == "__main__":
    main()
