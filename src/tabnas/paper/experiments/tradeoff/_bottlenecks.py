"""How often architectures on a Pareto front have bottlenecks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest, fisher_exact

from tabnas.pareto import is_pareto_optimal
from tabnas.types import BoolArray

MIN_CLEAR_RATIO = 2.0
"""The bottleneck ratio from which on a bottleneck is clear: widths halve, then double."""


class Tradeoff:
    """Costs, losses and bottleneck ratios of architectures, and which are on the Pareto front."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.costs = np.array([row["parameters"] for row in rows], np.float64)
        self.losses = np.array([np.mean(row["losses"]) for row in rows])
        self.ratios = np.array([row["bottleneck_ratio"] for row in rows])
        self.front = is_pareto_optimal(self.costs, self.losses)

    def front_indices(self) -> list[int]:
        """Return the indices of the front, cheapest first."""
        indices: list[int] = np.flatnonzero(self.front).tolist()
        return sorted(indices, key=lambda k: self.costs[k])


def count_bottlenecks(
    tradeoff: Tradeoff, has_bottleneck: BoolArray, *, cost_tolerance: float
) -> dict[str, Any]:
    """Count bottlenecks on the front and off it.

    `expected_at_same_cost` is the number on the front if only cost decided, from architectures
    whose cost differs by at most `cost_tolerance`; `p_value` is that of Fisher's exact test,
    two-sided; `front_interval` is the 95 % interval of the front's share (Clopper and Pearson).
    """
    costs, front = tradeoff.costs, tradeoff.front
    comparable = np.abs(costs / costs[front][:, None] - 1) <= cost_tolerance  # [front, all]
    shares = (comparable & has_bottleneck).sum(axis=1) / comparable.sum(axis=1)
    n_front, n_others = int(front.sum()), int((~front).sum())
    front_with = int((front & has_bottleneck).sum())
    others_with = int((~front & has_bottleneck).sum())
    test = fisher_exact([[front_with, n_front - front_with], [others_with, n_others - others_with]])
    interval = binomtest(front_with, n_front).proportion_ci()
    return {
        "front": n_front,
        "front_with": front_with,
        "front_interval": [float(interval.low), float(interval.high)],
        "others": n_others,
        "others_with": others_with,
        "expected_at_same_cost": float(shares.sum()),
        "p_value": float(test.pvalue),
    }
