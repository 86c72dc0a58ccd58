"""Counters in shared memory by which threads tell each other that something has happened.

Waking a thread that sleeps takes the operating system up to some hundred microseconds, as long as
a complete step of a small network. A thread that expects an event soon therefore polls a counter,
without holding Python's global lock, before it goes to sleep.
"""

from __future__ import annotations

from typing import Any

from numba import types

from tabnas.nets.compiled._jit import address, njit_inline
from tabnas.nets.compiled._vectors import INT, intrinsic
from tabnas.types import IntArray

INT_BYTES = 8
MAX_POLLS = 150_000  # before going to sleep: about a tenth of a millisecond


@intrinsic
def _read(context: Any, place: Any) -> Any:
    """Return the number at an address, read from memory at every call."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        pointer = builder.inttoptr(arguments[0], INT.as_pointer())
        return builder.load_atomic(pointer, "acquire", INT_BYTES)

    return types.int64(types.intp), generate


@intrinsic
def _write(context: Any, number: Any, place: Any) -> Any:
    """Write a number to an address, after everything that was written before."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        pointer = builder.inttoptr(arguments[1], INT.as_pointer())
        builder.store_atomic(arguments[0], pointer, "release", INT_BYTES)
        return target.get_dummy_value()

    return types.void(types.int64, types.intp), generate


@njit_inline
def count_event(event_counters: IntArray, index: int) -> None:
    """Add one to a counter; each counter has a single writer."""
    _write(event_counters[index] + 1, address(event_counters) + index * INT_BYTES)


@njit_inline
def poll(event_counters: IntArray, index: int, seen: int) -> None:
    """Return as soon as the counter is above `seen`, or after `MAX_POLLS` looks."""
    place = address(event_counters) + index * INT_BYTES
    for _ in range(MAX_POLLS):
        if _read(place) > seen:
            return
