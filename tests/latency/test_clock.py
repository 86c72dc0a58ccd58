"""The clock measures calls on a simulated timer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tabnas.latency import Call, Clock


class Time:
    """A timer that advances only when a call is made."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def call(self, next_us: Callable[[], float], count: int = 1) -> Call:
        def spend() -> None:
            self.now_ns += round(1_000 * next_us())

        return Call(spend, count)


def test_calls_of_constant_duration() -> None:
    time = Time()
    calls = [time.call(lambda us=us: us) for us in (3.0, 50.0, 7_000.0)]
    assert Clock(timer_ns=time).latencies_us(calls) == [3.0, 50.0, 7_000.0]


def test_several_calls_share_the_time_of_a_function() -> None:
    time = Time()
    calls = [time.call(lambda: 600.0, count=1_000), time.call(lambda: 600.0, count=3)]
    assert Clock(timer_ns=time).latencies_us(calls) == [0.6, 200.0]


def test_a_machine_that_is_busy_half_of_the_time() -> None:
    time, rng = Time(), np.random.default_rng(0)

    def us() -> float:
        busy = time.now_ns // 20_000_000 % 2  # every other 20 ms
        return 40.0 + (rng.exponential(60.0) if busy else 0.0)

    assert Clock(timer_ns=time, rounds=20).latencies_us([time.call(us)]) == [40.0]


def test_one_slow_call_among_many_does_not_count() -> None:
    time = Time()
    durations = iter([5.0, 5.0, 900.0] + 10_000 * [5.0])
    clock = Clock(timer_ns=time, rounds=2, warmup_calls=0)
    assert clock.latencies_us([time.call(lambda: next(durations))]) == [5.0]


def test_calls_before_the_slice_are_not_timed() -> None:
    time = Time()
    durations = iter([500.0, 500.0, 5.0, 5.0, 5.0])
    clock = Clock(timer_ns=time, rounds=1, slice_us=1.0, warmup_calls=2)
    assert clock.latencies_us([time.call(lambda: next(durations))]) == [5.0]


@pytest.mark.parametrize("seconds", [0.1, 2.0])
def test_a_measurement_takes_about_the_given_time(seconds: float) -> None:
    time, reports = Time(), []
    calls = [time.call(lambda: 10.0) for _ in range(50)]
    Clock(timer_ns=time).with_duration(seconds, len(calls)).medians_us(calls, reports.append)
    assert 1e9 * seconds <= time.now_ns <= 1.5e9 * seconds
    assert reports == sorted(reports)
    assert reports[-1] == 1.0
