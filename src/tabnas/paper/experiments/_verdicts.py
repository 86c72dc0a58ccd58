"""What the ground truth says of what searches name, by trainings that had no part in the choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._ground_truth import GroundTruth, ground_truth
from tabnas.space import Architecture, Budget
from tabnas.streams import stream
from tabnas.types import FloatArray

REGRETS = ("regret_of_first", "regret_of_returned")
"""Of the first candidate, for which nothing is trained alone; and of what a run returns, the best
of its candidates by one training each."""
PARTS = {"": "validation", "test_": "test"}
"""Each on the rows that every search saw, and, with this before its name, on rows that none saw."""


class Judge:
    """A limit of a table whose ground truth says what architectures are worth within it."""

    def __init__(self, truth: GroundTruth, limit: int) -> None:
        self.truth = truth
        self.budget = Budget(parameters=limit)
        self.place = {one: place for place, one in enumerate(truth.architectures)}
        self._regrets = cache(self._all_regrets)

    def _all_regrets(self, part: str, chosen_by: int | None) -> FloatArray:
        return self.truth.regrets(self.budget, part, chosen_by=chosen_by)

    @property
    def regrets(self) -> FloatArray:
        """Of every architecture of the ground truth; NaN over the limit."""
        return self._regrets("validation", None)

    def regret(
        self, one: Architecture, part: str = "validation", *, chosen_by: int | None = None
    ) -> float:
        """In standard deviations from seed to seed."""
        return float(self._regrets(part, chosen_by)[self.place[one]])

    def named(self, candidates: Sequence[Architecture], seed: int) -> Row:
        """Candidates, the first one first, and what a run would return of them.

        Each is trained once, and the lowest loss wins, which need not be that of the best.
        """
        return {
            "named": [str(one) for one in candidates],
            "returned": str(self.returned(candidates, seed)),
        }

    def returned(self, candidates: Sequence[Architecture], seed: int) -> Architecture:
        """The one whose training with the seed of the ground truth that stands for `seed` wins."""
        losses = self.truth.losses["validation"]
        once = losses[[self.place[one] for one in candidates], self.chooses(seed)]
        return candidates[int(once.argmin())]

    def chooses(self, seed: int) -> int:
        """The seed of the ground truth whose trainings choose in a run of this seed."""
        return int(seed % self.truth.losses["validation"].shape[1])

    def verdict(self, row: Row) -> dict[str, float]:
        """The regrets of what a row names; of the first one only where its name is there."""
        found = {}
        # older rows name the first alone, or none
        names = row.get("named") or ([row["recommended"]] if "recommended" in row else [])
        returned, chosen_by = Architecture.parse(row["returned"]), self.chooses(row["seed"])
        for prefix, part in PARTS.items():
            for first in names[:1]:
                found[f"{prefix}{REGRETS[0]}"] = self.regret(Architecture.parse(first), part)
            found[f"{prefix}{REGRETS[1]}"] = self.regret(returned, part, chosen_by=chosen_by)
        if "named" in row:
            best = min(self.regret(Architecture.parse(name)) for name in names)
            found["regret_of_best_candidate"] = best
        return found


@cache
def judge(table: str, limit: int) -> Judge:
    """The judge of one table and limit."""
    return Judge(ground_truth(table), limit)


def judged_rows(rows: list[Row]) -> list[Row]:
    """Rows of searches with their regrets: each has a table, a limit, a seed and what was named."""
    return [row | judge(row["table"], row["limit"]).verdict(row) for row in rows]


def by_run(rows: list[Row], name: str) -> dict[tuple[str, int, int], float]:
    """One of the regrets by table, limit and seed."""
    return {(row["table"], row["limit"], row["seed"]): row[name] for row in rows}


def trained_alone(judge: Judge, trainings: int, seed: int) -> Row:
    """Random search: so many feasible architectures, each trained once, the best returned.

    More trainings are the same and others; beyond all there are, all.
    """
    inside = np.flatnonzero(np.isfinite(judge.regrets))
    places = stream(seed, "random search").permutation(inside)[:trainings]
    drawn = [judge.truth.architectures[k] for k in places]
    return {"candidates": len(drawn), "returned": str(judge.returned(drawn, seed))}


def dearest(judge: Judge, count: int) -> list[Architecture]:
    """Those within the limit that cost most: what one would try without any search."""
    costs = np.where(np.isfinite(judge.regrets), judge.truth.costs["parameters"], -1)
    places = np.argsort(-costs, kind="stable")[:count]
    return [judge.truth.architectures[k] for k in places]
