"""How long a call takes: a number that a busy machine changes little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns

import numpy as np

from tabnas.types import FloatArray

Call = Callable[[], object]
Tell = Callable[[float], None]
"""Told how much of a measurement is done, from 0 to 1."""

CALM_SHARE = 0.25
"""The share of rounds that count as calm. Other work on the machine only ever adds time."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Measures calls side by side, in rounds.

    In every round each call is made again and again for a slice of time, after a few calls that
    bring its weights back into the processor's caches. The latency of a round is the median of its
    calls; that of the call is the lower quartile over the rounds: what a typical call takes while
    the machine has little else to do. The calls take turns, so that a busy minute meets them all.
    """

    rounds: int = 12
    slice_us: float = 8_000.0
    fewest_calls: int = 3  # of a slice, however long they take
    warm_calls: int = 2
    timer_ns: Callable[[], int] = perf_counter_ns

    def latencies_us(self, calls: Sequence[Call], tell: Tell = lambda done: None) -> list[float]:
        """Microseconds that each of the calls takes."""
        return calm_us(self.medians_us(calls, tell))

    def medians_us(self, calls: Sequence[Call], tell: Tell = lambda done: None) -> FloatArray:
        """Microseconds that a typical call takes in each of the rounds: [rounds, calls]."""
        medians = np.empty((self.rounds, len(calls)))
        for number in range(self.rounds):
            for place, call in enumerate(calls):
                medians[number, place] = self._median_us(call)
            tell((number + 1) / self.rounds)
        return medians

    def _median_us(self, call: Call) -> float:
        for _ in range(self.warm_calls):
            call()
        taken_ns: list[int] = []
        spent_ns = 0
        while spent_ns < 1_000 * self.slice_us or len(taken_ns) < self.fewest_calls:
            began = self.timer_ns()
            call()
            taken_ns.append(max(1, self.timer_ns() - began))
            spent_ns += taken_ns[-1]
        return float(np.median(taken_ns)) / 1_000

    def lasting(self, seconds: float, calls: int) -> Clock:
        """The same clock with slices that make measuring so many calls take about that long."""
        return replace(self, slice_us=1e6 * seconds / (self.rounds * calls))


def calm_us(medians: FloatArray) -> list[float]:
    """What each call takes in the calm rounds, of what it takes in all: [rounds, calls]."""
    calm: list[float] = np.quantile(medians, CALM_SHARE, axis=0).tolist()
    return calm


def spread_of(medians: FloatArray) -> float:
    """How much longer calls take in busy rounds than in calm ones, in parts: of the median call.

    >>> spread_of(np.array([[10.0, 40.0], [10.0, 40.0], [12.0, 48.0], [12.0, 48.0]]))
    0.2
    """
    calm, busy = np.quantile(medians, (CALM_SHARE, 1 - CALM_SHARE), axis=0, method="nearest")
    return round(float(np.median(busy / calm - 1)), 6)
