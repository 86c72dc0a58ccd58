"""Means with their intervals, and paired comparisons of regrets.

Runs of one table and limit whose seeds leave the same rest share the trainings that choose and the
trainings that judge, so they are no independent ones: their mean counts as one observation. Tables
and limits are given, not drawn, so an interval speaks of these alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from tabnas.types import FloatArray

SHARED = 3
"""Seeds of the ground truth, which stand in for those of a run by turns."""
NEAR = 2.0
"""Standard deviations from seed to seed: nearer cannot be told from the best by one training."""
LEVEL = 0.05

Runs = Mapping[tuple[Any, ...], float]
"""By table, limit and seed; the seed is the last of a name."""


@dataclass(frozen=True)
class Mean:
    """A mean over runs, with what its groups of runs say about its error."""

    value: float
    error: float  # standard error; 0 where no two groups share a table and a limit
    freedom: int  # degrees of it

    @classmethod
    def of(cls, runs: Runs) -> Mean:
        """Every run counts alike; the error is that between groups of the same table and limit."""
        cells: dict[tuple[Any, ...], dict[int, list[float]]] = {}
        for name, value in runs.items():
            groups = cells.setdefault(name[:-1], {})
            groups.setdefault(name[-1] % SHARED, []).append(value)
        variance, freedom = 0.0, 0
        for groups in cells.values():
            means = np.array([np.mean(group) for group in groups.values()])
            if len(means) > 1:
                share = sum(map(len, groups.values())) / len(runs)
                variance += share**2 * float(means.var(ddof=1)) / len(means)
                freedom += len(means) - 1
        return cls(float(np.mean(list(runs.values()))), variance**0.5, freedom)

    @property
    def interval(self) -> float:
        """Half of that of 95 %."""
        return float(student.ppf(0.975, self.freedom)) * self.error if self.freedom else 0.0

    @property
    def p(self) -> float:
        """Of a mean of 0, two-sided; 1 where nothing is known of the error."""
        if not self.freedom or self.value == 0:
            return 1.0
        if self.error == 0:
            return 0.0
        return float(2 * student.sf(abs(self.value) / self.error, self.freedom))


def described(runs: Runs) -> dict[str, Any]:
    """The mean with half of its 95 % interval, and how many are near the best."""
    mean = Mean.of(runs)
    return {
        "runs": len(runs),
        "mean": mean.value,
        "interval": mean.interval if mean.freedom else None,
        "near": float(np.mean([value <= NEAR for value in runs.values()])),
    }


def compared(runs: Runs, base: Runs) -> dict[str, Any]:
    """How much more regret than the base, run by run of the same name, in all and by table."""
    more = {name: runs[name] - base[name] for name in sorted(runs) if name in base}
    mean = Mean.of(more)
    tables = dict.fromkeys(name[0] for name in more)
    return {
        "more": mean.value,
        "low": mean.value - mean.interval,
        "high": mean.value + mean.interval,
        "p": mean.p,
        "tables": {
            table: float(np.mean([value for name, value in more.items() if name[0] == table]))
            for table in tables
        },
    }


def holm(comparisons: Sequence[dict[str, Any]]) -> None:
    """Add `p_holm` to each: its p, corrected for how many there are."""
    order = sorted(comparisons, key=lambda one: one["p"])
    most = 0.0
    for k, one in enumerate(order):
        most = max(most, min(1.0, (len(order) - k) * one["p"]))
        one["p_holm"] = most


def interval_of(values: Sequence[float] | FloatArray) -> float:
    """Half of the 95 % interval of the mean of independent values; 0 of fewer than two."""
    if len(values) < 2:
        return 0.0
    return float(1.96 * np.std(values, ddof=1) / len(values) ** 0.5)
