"""Numbers in memory by which threads tell each other that something has happened.

Waking a thread that sleeps takes the operating system up to some hundred microseconds, as long as
a whole step of a small network. A thread that expects news soon therefore watches for it, without
holding Python's global lock, before it goes to sleep.
"""

from __future__ import annotations

from typing import Any

from numba import types

from tabnas.nets.compiled._jit import address, inlined
from tabnas.nets.compiled._vectors import INT, intrinsic
from tabnas.types import IntArray

INT_BYTES = 8
WATCH = 150_000  # looks before going to sleep: about a tenth of a millisecond


@intrinsic
def _read(context: Any, place: Any) -> Any:
    """The number at an address, read anew at every call."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        pointer = builder.inttoptr(arguments[0], INT.as_pointer())
        return builder.load_atomic(pointer, "acquire", INT_BYTES)

    return types.int64(types.intp), generate


@intrinsic
def _write(context: Any, number: Any, place: Any) -> Any:
    """Write a number to an address after all that was written before."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        pointer = builder.inttoptr(arguments[1], INT.as_pointer())
        builder.store_atomic(arguments[0], pointer, "release", INT_BYTES)
        return target.get_dummy_value()

    return types.void(types.int64, types.intp), generate


@inlined
def signal(board: IntArray, index: int) -> None:
    """Count one more event; each entry of the board has one writer only."""
    _write(board[index] + 1, address(board) + index * INT_BYTES)


@inlined
def watch(board: IntArray, index: int, seen: int) -> None:
    """Return when the entry is above `seen`, or after a while."""
    place = address(board) + index * INT_BYTES
    for _ in range(WATCH):
        if _read(place) > seen:
            return
