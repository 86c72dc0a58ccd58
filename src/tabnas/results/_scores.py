"""Scores with their intervals, and costs with their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tabnas.decoding import Count
from tabnas.results._fields import Amount, Real, Task


@dataclass(frozen=True)
class Score:
    """A metric's value on some rows, with a 95 % interval for its value on all such rows."""

    value: Real
    low: Real
    high: Real

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, repr=False)
class Scores(Mapping[str, Score]):
    """The score by every metric that fits the task and is defined on the rows."""

    task: Task
    rows: Count  # with a positive weight
    metrics: Mapping[str, Score]

    def __getitem__(self, name: str) -> Score:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {score}" for name, score in self.items())
        return f"<Scores on {self.rows:,} rows: {listed}>"


@dataclass(frozen=True)
class CostUse:
    """How much of a cost a network uses, and its limit, if it has one."""

    value: Amount
    limit: Amount | None = None

    @property
    def is_within_limit(self) -> bool:
        """Whether the value is at most the limit; True without a limit."""
        return self.limit is None or self.value <= self.limit

    @property
    def share(self) -> float:
        """The share of the limit that is used; NaN without a limit.

        >>> CostUse(480, 500).share
        0.96
        """
        if self.limit is None:
            return float("nan")
        if self.limit == 0:
            return 1.0 if self.value <= 0 else float("inf")
        return self.value / self.limit
