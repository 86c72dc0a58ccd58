"""The clock, on calls that take made-up time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tabnas.latency import Clock


class Time:
    """A timer that moves only when a call makes it."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def call(self, next_us: Callable[[], float]) -> Callable[[], None]:
        def spend() -> None:
            self.now_ns += round(1_000 * next_us())

        return spend


def test_calls_that_always_take_the_same() -> None:
    time = Time()
    calls = [time.call(lambda us=us: us) for us in (3.0, 50.0, 7_000.0)]
    assert Clock(timer_ns=time).latencies_us(calls) == [3.0, 50.0, 7_000.0]


def test_a_machine_that_is_busy_half_of_the_time() -> None:
    time, rng = Time(), np.random.default_rng(0)

    def us() -> float:
        busy = time.now_ns // 20_000_000 % 2  # by turns of 20 ms
        return 40.0 + (rng.exponential(60.0) if busy else 0.0)

    assert Clock(timer_ns=time, rounds=20).latencies_us([time.call(us)]) == [40.0]


def test_one_slow_call_among_many_does_not_count() -> None:
    time = Time()
    taken = iter([5.0, 5.0, 900.0] + 10_000 * [5.0])
    clock = Clock(timer_ns=time, rounds=2, warmup_calls=0)
    assert clock.latencies_us([time.call(lambda: next(taken))]) == [5.0]


def test_calls_before_the_slice_are_not_timed() -> None:
    time = Time()
    taken = iter([500.0, 500.0, 5.0, 5.0, 5.0])
    clock = Clock(timer_ns=time, rounds=1, slice_us=1.0, warmup_calls=2)
    assert clock.latencies_us([time.call(lambda: next(taken))]) == [5.0]


@pytest.mark.parametrize("seconds", [0.1, 2.0])
def test_it_lasts_about_as_long_as_it_should(seconds: float) -> None:
    time, told = Time(), []
    calls = [time.call(lambda: 10.0) for _ in range(50)]
    Clock(timer_ns=time).with_duration(seconds, len(calls)).latencies_us(calls, told.append)
    assert 1e9 * seconds <= time.now_ns <= 1.5e9 * seconds
    assert told == sorted(told)
    assert told[-1] == 1.0
