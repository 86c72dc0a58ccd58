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


def mean_text(said: Mapping[str, Any]) -> str:
    """`0.31 ± 0.12`: mean and interval, if anything is known of it."""
    known = "" if said["interval"] is None else f" ± {said['interval']:.2f}"
    return f"{said['mean']:.2f}{known}"


def more_text(said: Mapping[str, Any]) -> str:
    """`+0.31 (+0.12 to +0.50)`."""
    return f"{said['more']:+.2f} ({said['low']:+.2f} to {said['high']:+.2f})"


def tables_cells(said: Mapping[str, Any], tables: Sequence[str]) -> list[str]:
    """`+0.31`, `-0.10`: the differences by table, in this order."""
    return [f"{said['tables'][table]:+.2f}" for table in tables]


def p_text(p: float) -> str:
    """Three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def verdict_text(compared_ones: Mapping[str, Mapping[str, Any]]) -> str:
    """Which of the named comparisons show a difference, by p after Holm's correction."""
    told = {name: more for name, more in compared_ones.items() if more["p_holm"] < LEVEL}
    worse = [name for name, more in told.items() if more["more"] > 0]
    better = [name for name in told if name not in worse]
    alike = [name for name in compared_ones if name not in told]
    kinds = (("Worse", worse), ("Better", better), ("No difference seen", alike))
    return " ".join(f"{kind}: {'; '.join(names) or 'none'}." for kind, names in kinds)


HOW = (
    "Runs of a table and limit whose seeds leave the same rest by three share the trainings that "
    "choose and judge, so each such group is one observation; intervals are of 95 % by Student's "
    "t, p is of the same test, and *p, Holm* is corrected for the number of rows of its table. A "
    f"difference is called one if that is below {LEVEL}. The defaults were chosen on these tables."
)
"""What every report that compares runs has to say."""
JUDGED = (
    "*Regret*: how much higher the loss is than that of the best architecture within the limit, in "
    "standard deviations from seed to seed of a single training; 2 is what another seed does. What "
    "is returned was chosen by one training of each candidate on the validation rows, and is "
    "judged by the two trainings of the ground truth that had no part in that, so it may be below "
    "0. *Test*: the same on rows that no search and no choice has seen."
)
"""Likewise, of what is judged."""
