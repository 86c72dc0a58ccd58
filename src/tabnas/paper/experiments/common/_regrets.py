"""Regrets of what searches return, evaluated by trainings that had no part in the selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._ground_truth import GroundTruth, load_ground_truth
from tabnas.paper.experiments.common._statistics import add_holm, compare_runs
from tabnas.space import Architecture, Budget
from tabnas.streams import stream
from tabnas.types import FloatArray

PARTS = {"": "validation", "test_": "test"}
"""Regrets are on the rows that searches saw and, with this prefix, on rows that none saw."""
FIRST = ("regret_of_first", "test_regret_of_first")
"""Regrets of the first candidate, which is selected without any stand-alone training."""
RETURNED = ("regret_of_returned", "test_regret_of_returned")
"""Regrets of what a run returns: the best of its candidates by one training each."""
REGRETS = (*FIRST, *RETURNED)


class RegretScorer:
    """The regrets of all architectures of a ground truth within a limit."""

    def __init__(self, truth: GroundTruth, limit: int) -> None:
        self.truth = truth
        self.budget = Budget(parameters=limit)
        self.index = {architecture: k for k, architecture in enumerate(truth.architectures)}
        self._regrets = cache(self._compute_regrets)

    def _compute_regrets(self, part: str, selection_seed: int | None) -> FloatArray:
        return self.truth.regrets(self.budget, part, selection_seed=selection_seed)

    @property
    def regrets(self) -> FloatArray:
        """The regrets of all architectures on the validation rows; NaN over the limit."""
        return self._regrets("validation", None)

    def regret(
        self,
        architecture: Architecture,
        part: str = "validation",
        *,
        selection_seed: int | None = None,
    ) -> float:
        """Return the regret of an architecture, in standard deviations over seeds."""
        return float(self._regrets(part, selection_seed)[self.index[architecture]])

    def select_best(self, candidates: Sequence[Architecture], seed: int) -> Architecture:
        """Return the candidate that a run with this seed returns.

        Each is trained once, and the lowest loss wins, which need not be the best candidate.
        """
        losses = self.truth.losses["validation"]
        rows = [self.index[candidate] for candidate in candidates]
        return candidates[int(losses[rows, self.selection_seed(seed)].argmin())]

    def selection_seed(self, seed: int) -> int:
        """Return the seed of the ground truth whose trainings select in a run with this seed."""
        return int(seed % self.truth.losses["validation"].shape[1])

    def describe(self, candidates: Sequence[Architecture], seed: int) -> Row:
        """Return the candidates, the first one first, and which of them a run returns."""
        return {
            "candidates": [str(candidate) for candidate in candidates],
            "returned": str(self.select_best(candidates, seed)),
        }

    def score(self, row: Row) -> dict[str, float]:
        """Return the regrets of the candidates of a row; some rows only have what is returned."""
        candidates = [Architecture.parse(name) for name in row.get("candidates", ())]
        returned = Architecture.parse(row["returned"])
        seed = self.selection_seed(row["seed"])
        scores = {}
        for prefix, part in PARTS.items():
            if candidates:
                scores[f"{prefix}regret_of_first"] = self.regret(candidates[0], part)
            scores[f"{prefix}regret_of_returned"] = self.regret(returned, part, selection_seed=seed)
        if candidates:
            scores["regret_of_best_candidate"] = min(map(self.regret, candidates))
        return scores


@cache
def get_scorer(table: str, limit: int) -> RegretScorer:
    """Return the scorer of a table and limit."""
    return RegretScorer(load_ground_truth(table), limit)


def add_regrets(rows: list[Row]) -> list[Row]:
    """Return rows of searches with their regrets; each has a table, a limit and a seed."""
    return [row | get_scorer(row["table"], row["limit"]).score(row) for row in rows]


def values_by_run(rows: list[Row], name: str) -> dict[tuple[str, int, int], float]:
    """Return one of the values of each row by table, limit and seed."""
    return {(row["table"], row["limit"], row["seed"]): row[name] for row in rows}


def compare_groups(
    groups: Mapping[Any, list[Row]], base: Any, names: Sequence[str] = REGRETS
) -> dict[Any, dict[str, Any]]:
    """Compare the regrets of each group with those of the base, run by run.

    Returns, for each group and regret `NAME`, a comparison `NAME_difference`. The p-values are
    corrected for the number of groups beside the base.
    """
    comparisons = {
        title: {
            f"{name}_difference": compare_runs(
                values_by_run(rows, name), values_by_run(groups[base], name)
            )
            for name in names
            if name in rows[0]
        }
        for title, rows in groups.items()
    }
    others = [comparison for title, comparison in comparisons.items() if title != base]
    for name in names:
        key = f"{name}_difference"
        add_holm([comparison[key] for comparison in others if key in comparison])
    return comparisons


def random_search(scorer: RegretScorer, trainings: int, seed: int) -> Row:
    """Return the best of some random feasible architectures, each trained once.

    A larger search contains the smaller ones of the same seed, up to all feasible architectures.
    """
    inside = np.flatnonzero(np.isfinite(scorer.regrets))
    indices = stream(seed, "random search").permutation(inside)[:trainings]
    sampled = [scorer.truth.architectures[k] for k in indices]
    return {"n_candidates": len(sampled), "returned": str(scorer.select_best(sampled, seed))}


def most_expensive(scorer: RegretScorer, count: int) -> list[Architecture]:
    """Return the most expensive architectures within the limit: candidates without a search."""
    costs = np.where(np.isfinite(scorer.regrets), scorer.truth.costs["parameters"], -1)
    indices = np.argsort(-costs, kind="stable")[:count]
    return [scorer.truth.architectures[k] for k in indices]
