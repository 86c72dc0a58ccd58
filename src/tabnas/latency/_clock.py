"""Measure how long a call takes, robustly on a machine that has other work to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns

import numpy as np

from tabnas.data import FractionCallback
from tabnas.types import FloatArray

IDLE_QUANTILE = 0.25
"""The quantile over rounds that counts as the latency of an idle machine: other work on the machine
can only add time."""


@dataclass(frozen=True)
class Call:
    """A function to time: one call of a model, or several that share the time evenly."""

    function: Callable[[], object]
    count: int = 1  # calls of the model


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Measures several calls in rounds.

    In every round each call is repeated for a slice of time, after a few calls that bring its
    weights back into the processor's caches. The latency of a round is the median of its
    repetitions; the latency of the call is the lower quartile over the rounds: what a typical call
    takes on an idle machine. The calls take turns, so that a busy minute affects all of them.
    """

    rounds: int = 12
    slice_us: float = 8_000.0
    min_calls: int = 3  # in a slice, however long they take
    warmup_calls: int = 2
    timer_ns: Callable[[], int] = perf_counter_ns

    def latencies_us(self, calls: Sequence[Call]) -> list[float]:
        """Return the latency of each call in microseconds."""
        return idle_latencies_us(self.medians_us(calls))

    def medians_us(
        self, calls: Sequence[Call], on_progress: FractionCallback = lambda fraction: None
    ) -> FloatArray:
        """Return the median latency of each call in each round: [rounds, calls]."""
        medians = np.empty((self.rounds, len(calls)))
        for number in range(self.rounds):
            for column, call in enumerate(calls):
                medians[number, column] = self._median_us(call)
            on_progress((number + 1) / self.rounds)
        return medians

    def _median_us(self, call: Call) -> float:
        for _ in range(self.warmup_calls):
            call.function()
        durations_ns: list[int] = []
        spent_ns = 0
        while spent_ns < 1_000 * self.slice_us or len(durations_ns) < self.min_calls:
            began = self.timer_ns()
            call.function()
            durations_ns.append(max(1, self.timer_ns() - began))
            spent_ns += durations_ns[-1]
        return float(np.median(durations_ns)) / 1_000 / call.count

    def with_duration(self, seconds: float, calls: int) -> Clock:
        """Return a clock whose slices are so short that `calls` calls take about `seconds`."""
        return replace(self, slice_us=1e6 * seconds / (self.rounds * calls))


def idle_latencies_us(medians: FloatArray) -> list[float]:
    """Return the latency of each call on an idle machine, from medians [rounds, calls]."""
    latencies: list[float] = np.quantile(medians, IDLE_QUANTILE, axis=0).tolist()
    return latencies


def relative_spread(medians: FloatArray) -> float:
    """Return by what fraction busy rounds take longer than idle ones, for the median call.

    >>> relative_spread(np.array([[10.0, 40.0], [10.0, 40.0], [12.0, 48.0], [12.0, 48.0]]))
    0.2
    """
    idle, busy = np.quantile(medians, (IDLE_QUANTILE, 1 - IDLE_QUANTILE), axis=0, method="nearest")
    return round(float(np.median(busy / idle - 1)), 6)
