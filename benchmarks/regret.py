"""How far what a search returns is from the best there is, by the ground truth.

    python benchmarks/regret.py --data ../shared/data --out results

Real searches with the default settings in the spaces of the ground truth, with three ways to draw
the children that the weight updates train. The three candidates of a search are then judged as a
run judges them, by a single training each, whose losses are in the ground truth; what wins is
returned. Its regret is its mean loss over seeds less that of the best architecture within the
limit, in standard deviations from seed to seed. Limits are those that a tenth, a quarter, a half
and nine tenths of the space's architectures keep.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper import GroundTruth, ground_truth, ground_truth_tables, provenance
from tabnas.runs import PlannedRun
from tabnas.search import Search, select
from tabnas.space import Budget

SHARES = (0.1, 0.25, 0.5, 0.9)
BY = ("depth", "uniform", "policy")
CANDIDATES = 3


def searched(truth: GroundTruth, run: PlannedRun, limit: int, by: str, seed: int) -> dict:
    """One search, and what it would have returned."""
    budget = Budget(parameters=limit)
    feasible = FeasibleSet(run.plan.feasible.space, budget)
    settings = replace(run.plan.search, seed=seed, children_options={"by": by})
    began = perf_counter()
    search = Search(feasible, run.parts.train.examples, run.parts.validation.examples, settings)
    search.run()
    candidates = select(search, CANDIDATES)
    seconds = perf_counter() - began
    places = [truth.architectures.index(one) for one in candidates]
    losses = truth.losses["validation"][places, seed % truth.losses["validation"].shape[1]]
    returned = candidates[int(losses.argmin())]
    inside = truth.costs["parameters"] <= limit
    at_limit = truth.costs["parameters"] >= 0.8 * truth.costs["parameters"][inside].max()
    return {
        "limit": limit,
        "by": by,
        "seed": seed,
        "returned": str(returned),
        "regret": truth.regret(returned, budget),
        "best_candidate": min(truth.regret(one, budget) for one in candidates),
        "seconds": seconds,
        "trainings": seconds / float(np.median(truth.seconds[inside & at_limit])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    rows = []
    names = options.tables or [name for name in ground_truth_tables() if available(name)]
    for name in names:
        truth, run = ground_truth(name), ground_truth_tables()[name].run(options.data)
        limits = [int(np.quantile(truth.costs["parameters"], share)) for share in SHARES]
        for limit in limits:
            for by in BY:
                own = [searched(truth, run, limit, by, seed) for seed in range(options.seeds)]
                rows += [{"table": name} | row for row in own]
                print(name, limit, by, np.mean([row["regret"] for row in own]), flush=True)
        facts = provenance("python benchmarks/regret.py --data ... --out results")
        (options.out / "regret.json").write_text(
            json.dumps(facts | {"rows": rows}, indent=1) + "\n"
        )
        (options.out / "regret.md").write_text(report(facts, rows, options.seeds))


def available(name: str) -> bool:
    """Whether the ground truth comes with the package."""
    try:
        ground_truth(name)
    except ValueError:
        return False
    return True


def report(facts, rows, seeds: int) -> str:
    def cell(own) -> str:
        regrets = np.array([row["regret"] for row in own])
        near = (regrets <= 2).mean()
        return f"{regrets.mean():.2f} ± {1.96 * regrets.std() / len(own) ** 0.5:.2f}, {near:.0%}"

    lines = [
        "# Regret against the ground truth",
        "",
        f"`{facts['command']}`, {facts['date']}. Mean regret of what a search returns over {seeds} "
        "seeds with its 95 % interval, in standard deviations from seed to seed, and how often it "
        "is within two of them. Columns: how the children are drawn that the weight updates "
        "train, within the tightening limit: each depth alike, all architectures alike, or by "
        "the policy.",
        "",
        "| table | limit | each depth alike | uniform | by the policy |",
        "|---|---|---|---|---|",
    ]
    for table, limit in dict.fromkeys((row["table"], row["limit"]) for row in rows):
        own = [row for row in rows if (row["table"], row["limit"]) == (table, limit)]
        cells = [cell([row for row in own if row["by"] == by]) for by in BY]
        lines.append(f"| {table} | {limit:,} | {' | '.join(cells)} |")
    cells = [cell([row for row in rows if row["by"] == by]) for by in BY]
    lines += [f"| all | | {' | '.join(cells)} |", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
