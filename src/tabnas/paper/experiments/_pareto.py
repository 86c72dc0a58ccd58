"""The Pareto front of loss against cost, and how often it has bottlenecks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, fisher_exact

from tabnas.types import BoolArray

EVIDENT = 2.0
"""The narrowing from which on a bottleneck is plain to see: widths halve, then double."""


def on_front(costs: ArrayLike, losses: ArrayLike) -> BoolArray:
    """Which are Pareto-optimal: nothing costs no more and is no worse, but for their equals.

    >>> on_front([1, 2, 2, 3], [0.5, 0.4, 0.6, 0.4]).tolist()
    [True, True, False, False]
    """
    costs, losses = np.asarray(costs, np.float64), np.asarray(losses, np.float64)
    no_dearer = costs[:, None] <= costs
    no_worse = losses[:, None] <= losses
    better = (costs[:, None] < costs) | (losses[:, None] < losses)
    return np.asarray(~(no_dearer & no_worse & better).any(axis=0))


class Tradeoff:
    """Architectures as arrays, one entry each, and their front."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.costs = np.array([row["parameters"] for row in rows], np.float64)
        self.losses = np.array([np.mean(row["losses"]) for row in rows])
        self.narrowing = np.array([row["narrowing"] for row in rows])
        self.front = on_front(self.costs, self.losses)

    def along_the_front(self) -> list[int]:
        """The indices of what is Pareto-optimal, cheapest first."""
        found: list[int] = np.nonzero(self.front)[0].tolist()
        return sorted(found, key=lambda k: self.costs[k])


@dataclass(frozen=True, kw_only=True)
class Bottlenecks:
    """Bottlenecks on a front against those of all other architectures."""

    front: int
    front_with: int
    others: int
    others_with: int
    expected: float  # on the front, if cost alone decided: from those of about the same cost

    @property
    def p_value(self) -> float:
        """Fisher's exact test, two-sided."""
        table = [
            [self.front_with, self.front - self.front_with],
            [self.others_with, self.others - self.others_with],
        ]
        return float(fisher_exact(table).pvalue)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the front's share (Clopper and Pearson)."""
        found = binomtest(self.front_with, self.front).proportion_ci()
        return float(found.low), float(found.high)

    def facts(self) -> dict[str, Any]:
        """For `summary.json`."""
        return {
            "front": self.front,
            "front_with": self.front_with,
            "front_interval": list(self.interval),
            "others": self.others,
            "others_with": self.others_with,
            "expected_at_the_same_cost": self.expected,
            "p_value": self.p_value,
        }


def bottlenecks(points: Tradeoff, narrow: BoolArray, *, same_cost: float) -> Bottlenecks:
    """Count the `narrow` ones; `same_cost` is how far the cost of comparable ones may be off."""
    costs, front = points.costs, points.front
    comparable = np.abs(costs / costs[front][:, None] - 1) <= same_cost  # [front, all]
    shares = (comparable & narrow).sum(axis=1) / comparable.sum(axis=1)
    return Bottlenecks(
        front=int(front.sum()),
        front_with=int((front & narrow).sum()),
        others=int((~front).sum()),
        others_with=int((~front & narrow).sum()),
        expected=float(shares.sum()),
    )
