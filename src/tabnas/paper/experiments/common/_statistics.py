"""Means with confidence intervals, paired comparisons of regrets, and correlations.

Runs with the same table, limit and seed modulo three share the trainings that select and the
trainings that evaluate, so they are not independent: their mean counts as one observation. Tables
and limits are fixed, not sampled, so an interval is about these only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from scipy.stats import t as student

from tabnas.types import FloatArray

GROUND_TRUTH_SEEDS = 3
"""Seeds of the ground truth, which represent the seeds of runs in turn."""
NEAR_BEST = 2.0
"""A regret up to this, in standard deviations over seeds, is within the noise of one training."""
SIGNIFICANCE = 0.05

Runs = Mapping[tuple[Any, ...], float]
"""Values by table, limit and seed; the seed is the last of a name."""


@dataclass(frozen=True)
class Mean:
    """A mean over runs with its standard error."""

    value: float
    standard_error: float  # 0 if no two groups share a table and a limit
    dof: int  # degrees of freedom of the standard error

    @classmethod
    def from_runs(cls, runs: Runs) -> Mean:
        """Average over runs; the error is that between groups of the same table and limit."""
        cells: dict[tuple[Any, ...], dict[int, list[float]]] = {}
        for name, value in runs.items():
            groups = cells.setdefault(name[:-1], {})
            groups.setdefault(name[-1] % GROUND_TRUTH_SEEDS, []).append(value)
        variance, dof = 0.0, 0
        for groups in cells.values():
            means = np.array([np.mean(group) for group in groups.values()])
            if len(means) > 1:
                share = sum(map(len, groups.values())) / len(runs)
                variance += share**2 * float(means.var(ddof=1)) / len(means)
                dof += len(means) - 1
        return cls(float(np.mean(list(runs.values()))), variance**0.5, dof)

    @property
    def interval(self) -> float:
        """Half of the 95 % confidence interval."""
        return float(student.ppf(0.975, self.dof)) * self.standard_error if self.dof else 0.0

    @property
    def p(self) -> float:
        """The two-sided p-value of a mean of 0; 1 if the standard error is unknown."""
        if not self.dof or self.value == 0:
            return 1.0
        if self.standard_error == 0:
            return 0.0
        return float(2 * student.sf(abs(self.value) / self.standard_error, self.dof))


def summarize_runs(runs: Runs) -> dict[str, Any]:
    """Return the mean, half of its 95 % interval, and the share of runs near the best."""
    mean = Mean.from_runs(runs)
    return {
        "runs": len(runs),
        "mean": mean.value,
        "interval": mean.interval if mean.dof else None,
        "near_best": float(np.mean([value <= NEAR_BEST for value in runs.values()])),
    }


def compare_runs(runs: Runs, base: Runs) -> dict[str, Any]:
    """Return the mean difference between runs of the same name, in all and by table."""
    differences = {name: runs[name] - base[name] for name in sorted(runs) if name in base}
    mean = Mean.from_runs(differences)
    tables = dict.fromkeys(name[0] for name in differences)
    return {
        "difference": mean.value,
        "low": mean.value - mean.interval,
        "high": mean.value + mean.interval,
        "p": mean.p,
        "tables": {
            table: float(np.mean([v for name, v in differences.items() if name[0] == table]))
            for table in tables
        },
    }


def add_holm(comparisons: Sequence[dict[str, Any]]) -> None:
    """Add `p_holm` to each comparison: its p, corrected by Holm's method for their number."""
    ordered = sorted(comparisons, key=lambda comparison: comparison["p"])
    largest = 0.0
    for k, comparison in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - k) * comparison["p"]))
        comparison["p_holm"] = largest


def half_interval(values: Sequence[float] | FloatArray) -> float:
    """Return half of the 95 % interval of the mean of independent values; 0 if fewer than two."""
    if len(values) < 2:
        return 0.0
    return float(1.96 * np.std(values, ddof=1) / len(values) ** 0.5)


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Return Pearson's correlation; 0 if one of the two is constant.

    >>> round(pearson([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]), 3)
    0.993
    """
    a, b = (np.asarray(values, np.float64) for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation.

    >>> spearman([1.0, 2.0, 30.0], [2.0, 4.0, 5.0])
    1.0
    """
    return pearson(rankdata(x), rankdata(y))
