"""Regret against the ground truth, by strategy and cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, group_rows, mean
from tabnas.paper.experiments.common import (
    REGRETS,
    RETURNED,
    SearchProblem,
    add_regrets,
    compare_groups,
    filter_by_ground_truth,
    find_most_likely,
    get_scorer,
    load_problem,
    most_expensive,
    random_search,
    summarize_runs,
    values_by_run,
)
from tabnas.paper.experiments.comparison._report import plot_comparison, report
from tabnas.search import select
from tabnas.space import Architecture

RANDOM = "random search"
MOST_EXPENSIVE = "the three most expensive, no search"
TIMED_EPOCHS = 4
"""Epochs of a training that are timed; the time of all is extrapolated."""


class ComparisonExperiment(Experiment):
    """Real searches with real data; only the trainings of candidates are looked up."""

    name = "comparison"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = filter_by_ground_truth(definition["tables"])
        self.strategies = {strategy["name"]: strategy for strategy in definition["strategies"]}
        self.ours = next(iter(self.strategies))

    def jobs(self) -> list[Job]:
        seeds = self.definition["seeds"]
        cells = [(table, share) for table in self.tables for share in self.definition["shares"]]
        return [
            *(
                {"table": table, "share": share, "strategy": strategy}
                for table, share in cells
                for strategy in (RANDOM, MOST_EXPENSIVE)
            ),
            *(
                {"table": table, "share": share, "strategy": name, "seed": seed}
                for seed in range(seeds)
                for table, share in cells
                for name, strategy in self.strategies.items()
                if seed < strategy.get("seeds", seeds)
            ),
        ]

    def run(self, job: Job) -> list[Row]:
        problem = load_problem(job["table"], job["share"], self.data, warm_up=True)
        if job["strategy"] == RANDOM:
            rows = [
                {"seed": seed, "trainings": trainings, "search_cost": 0.0}
                | random_search(problem.scorer, trainings, seed)
                for trainings in self.definition["random"]
                for seed in range(self.definition["random_repeats"])
            ]
        elif job["strategy"] == MOST_EXPENSIVE:
            candidates = most_expensive(problem.scorer, self.definition["candidates"])
            rows = [
                {"seed": seed, "search_cost": 0.0, "n_candidates": len(candidates)}
                | problem.scorer.describe(candidates, seed)
                for seed in range(self.definition["seeds"])
            ]
        else:
            rows = [self._search(problem, job)]
        return [{"limit": problem.limit} | row for row in rows]

    def _search(self, problem: SearchProblem, job: Job) -> Row:
        changes = dict(self.strategies[job["strategy"]])
        for key in ("name", "seeds", "compare_with"):
            changes.pop(key, None)
        changes |= changes.pop("tuned", {}).get(job["table"], {})
        selection = changes.pop("selection", "one_shot")
        start = process_time()
        search = problem.search(problem.settings(job["seed"], changes))
        search.run()
        candidates = select(search, self.definition["candidates"], by=selection)
        seconds = process_time() - start
        result = problem.scorer.describe(candidates, job["seed"])
        training = problem.time_training(
            Architecture.parse(result["returned"]), epochs=TIMED_EPOCHS
        )
        # where a penalty leads by itself; the candidates are sampled from V for every reward
        most_likely = find_most_likely(search)
        return {
            "search_cost": seconds / training,
            "n_candidates": len(candidates),
            "most_likely": str(most_likely),
            "most_likely_feasible": most_likely in search.feasible,
            **result,
        }

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        groups = group_rows(add_regrets(rows), "strategy")
        random = group_rows(groups.pop(RANDOM), "trainings")
        titles = [name for name in (*self.strategies, MOST_EXPENSIVE) if name in groups]
        ours = groups[self.ours]
        with_base: dict[str, list[str]] = {}
        for name in titles:
            if base := self.strategies.get(name, {}).get("compare_with"):
                with_base.setdefault(base, []).append(name)
        return {
            "tables": self.tables,
            "limits": len({(row["table"], row["limit"]) for row in rows}),
            "seeds": self.definition["seeds"],
            "strategies": [{"strategy": name} | _summarize(groups[name]) for name in titles],
            "paired": _compare({name: groups[name] for name in titles}, self.ours),
            "same_selection": [
                {"base": base} | comparison
                for base, names in with_base.items()
                for comparison in _compare({name: groups[name] for name in (base, *names)}, base)
            ],
            "random": [
                {"trainings": count} | _summarize(scores) for count, scores in random.items()
            ],
            "random_paired": _compare(
                {self.ours: ours} | {str(count): scores for count, scores in random.items()},
                self.ours,
            ),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return report(self.definition, summary)

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_comparison(summary, out / "regret")


def _compare(groups: Mapping[str, list[Row]], base: str) -> list[dict[str, Any]]:
    """Compare what other groups return with what the base returns."""
    comparisons = compare_groups(groups, base, RETURNED)
    return [{"strategy": name, **scores} for name, scores in comparisons.items() if name != base]


def _summarize(rows: list[Row]) -> dict[str, Any]:
    """Summarize all runs of a strategy together, by table, and by table and limit."""
    cells: list[dict[str, Any]] = [
        {"table": table, "limit": limit} | _summarize_cell(cell)
        for (table, limit), cell in group_rows(rows, "table", "limit").items()
    ]
    feasible = [row["most_likely_feasible"] for row in rows if "most_likely_feasible" in row]
    by_table = group_rows(rows, "table")
    return {
        **_summarize_cell(rows),
        **({"most_likely_infeasible": 1 - mean(feasible)} if feasible else {}),
        "among_most_expensive": mean(map(_is_among_most_expensive, rows)),
        "below_one": sum(cell[RETURNED[0]]["mean"] < 1 for cell in cells),
        "worst": max(cells, key=lambda cell: float(cell[RETURNED[0]]["mean"])),
        "by_table": {table: _summarize_cell(scores) for table, scores in by_table.items()},
        "cells": cells,
    }


def _summarize_cell(rows: list[Row]) -> dict[str, Any]:
    search_cost = float(np.median([row["search_cost"] for row in rows]))
    n_candidates = mean(row["n_candidates"] for row in rows)
    names = [name for name in REGRETS if name in rows[0]]
    best = [row["regret_of_best_candidate"] for row in rows if "regret_of_best_candidate" in row]
    return {
        **{name: summarize_runs(values_by_run(rows, name)) for name in names},
        **({"regret_of_best_candidate": mean(best)} if best else {}),
        "search_cost": search_cost,
        "n_candidates": n_candidates,
        "total_cost": search_cost + n_candidates,
    }


def _is_among_most_expensive(row: Row) -> bool:
    """Return whether what is returned is one of the five most expensive feasible architectures."""
    architectures = most_expensive(get_scorer(row["table"], row["limit"]), 5)
    return row["returned"] in map(str, architectures)


EXPERIMENT = ComparisonExperiment
