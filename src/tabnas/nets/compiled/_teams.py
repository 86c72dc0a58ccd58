"""Threads that compute one step together, each a part of the outputs of every operation.

They share some numbers in memory, the *cells*. The calling thread, member 0, announces every step
with the number of members, and all wait for each other where one needs what another has computed.
A helper takes part from the first step on that begins after it has arrived; nobody waits for long
for one that is late. What is computed does not depend on who computes it.

Waking a thread that sleeps takes the operating system up to some hundred microseconds, so a thread
that waits polls for a while; then it lets others have its core.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._vectors import INT, intrinsic
from tabnas.types import IntArray

INT_BYTES = 8
CELL = 8  # numbers from one cell to the next, a cache line
CELL_BYTES = CELL * INT_BYTES

# the cells
ARRIVED = 0  # helpers so far
ANNOUNCED = 1  # the current step, counted from 1, and the number of members, in one number
PHASE = 2  # how often members have waited for each other before it
PROBLEM = 3  # what is wrong with the step, or 0
PATIENCE = 4  # how often member 0 looks for helpers before the first step
NEXT = 5  # the next chunk of an evaluation
DONE = 6  # its finished chunks
FIRST_MEMBER = 7  # one for each member: how often it has waited

MEMBER_BITS = 10
OVER = -1  # is announced after the last step
MAX_POLLS = 150_000  # before going to sleep: about a tenth of a millisecond
SPINS, YIELDS = 20_000, 20_000  # looks before others get the core, and before a thread sleeps
SLEEP_MICROSECONDS = 50

_int32: Any = types.int32
_sched_yield: Any = types.ExternalFunction("sched_yield", _int32())
_usleep: Any = types.ExternalFunction("usleep", _int32(types.uint32))


class Team(NamedTuple):
    """Who computes a step: member 0 to size - 1."""

    cells: int  # the address of the cells
    member: int
    size: int


# -- memory that threads share ---------------------------------------------------------------------


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


@intrinsic
def _increment(context: Any, place: Any) -> Any:
    """Add 1 to the number at an address; return what it was. No other thread gets the same."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        pointer = builder.inttoptr(arguments[0], INT.as_pointer())
        return builder.atomic_rmw("add", pointer, ir.Constant(INT, 1), "acq_rel")

    return types.int64(types.intp), generate


@njit_inline
def _cell(cells: int, index: int) -> int:
    return cells + index * CELL_BYTES


@njit_inline
def _pause(polls: int) -> None:
    """Let others have the core, after this many polls."""
    if polls > SPINS + YIELDS:
        _usleep(SLEEP_MICROSECONDS)
    elif polls > SPINS:
        _sched_yield()


@njit_helper
def _wait_until(place: int, value: int) -> None:
    """Wait until the number at an address is at least the value."""
    polls = 0
    while _read(place) < value:
        polls += 1
        _pause(polls)


# -- members ---------------------------------------------------------------------------------------


@njit_helper
def announce(cells: IntArray, step: int) -> int:
    """Announce a step to the helpers that have arrived; return the number of members."""
    base = address(cells)
    if step == 0:
        expected = cells.size // CELL - FIRST_MEMBER - 1
        for polls in range(_read(_cell(base, PATIENCE))):
            if _read(_cell(base, ARRIVED)) >= expected:
                break
            _pause(polls)
    size: int = 1 + _read(_cell(base, ARRIVED))
    _write(_read(_cell(base, FIRST_MEMBER)), _cell(base, PHASE))
    _write(((step + 1) << MEMBER_BITS) + size, _cell(base, ANNOUNCED))
    return size


@njit_inline
def dismiss(cells: IntArray) -> None:
    """Announce that there are no further steps."""
    _write(OVER, _cell(address(cells), ANNOUNCED))


@njit_inline
def arrive(cells: IntArray) -> int:
    """Return the number of a new member."""
    member: int = 1 + _increment(_cell(address(cells), ARRIVED))
    return member


@njit_helper
def next_step(cells: IntArray, member: int, last: int) -> tuple[int, int]:
    """Wait for a step after `last` that a helper takes part in; return it and the members.

    Steps are counted from 0; there is none left if it is negative.
    """
    base = address(cells)
    place = _cell(base, ANNOUNCED)
    polls = 0
    while True:
        announced = _read(place)
        if announced < 0:
            return OVER, 0
        step = (announced >> MEMBER_BITS) - 1
        size = announced - ((step + 1) << MEMBER_BITS)
        if step > last:
            if member < size:
                _write(_read(_cell(base, PHASE)), _cell(base, FIRST_MEMBER + member))
                return step, size
            last = step
            polls = 0
        polls += 1
        _pause(polls)


@njit_helper
def _wait_for_members(team: Team) -> None:
    own = _cell(team.cells, FIRST_MEMBER + team.member)
    phase = _read(own) + 1
    _write(phase, own)
    for other in range(team.size):
        _wait_until(_cell(team.cells, FIRST_MEMBER + other), phase)


@njit_inline
def wait_for_members(team: Team) -> None:
    """Wait until all members are here; then each sees what the others have written."""
    if team.size > 1:
        _wait_for_members(team)


@njit_inline
def agree(team: Team, problem: int) -> int:
    """Wait for all members; return the problem that one of them has, or 0."""
    if team.size == 1:
        return problem
    if problem < 0:
        _write(problem, _cell(team.cells, PROBLEM))
    _wait_for_members(team)
    agreed: int = _read(_cell(team.cells, PROBLEM))
    return agreed


@njit_inline
def share(team: Team, count: int, unit: int) -> tuple[int, int]:
    """Return the member's part of `count` elements, in whole units: from where to where."""
    if team.size == 1:
        return 0, count
    units = (count + unit - 1) // unit
    begin = units * team.member // team.size * unit
    return min(begin, count), min(count, units * (team.member + 1) // team.size * unit)


# -- chunks, which any thread can take -------------------------------------------------------------


@njit_inline
def offer_chunks(cells: IntArray) -> None:
    """Let helpers take chunks."""
    _write(1, _cell(address(cells), ANNOUNCED))


@njit_helper
def chunks_are_offered(cells: IntArray) -> bool:
    """Wait until chunks are offered; return whether they still are."""
    place = _cell(address(cells), ANNOUNCED)
    polls = 0
    while _read(place) == 0:
        polls += 1
        _pause(polls)
    offered: bool = _read(place) > 0
    return offered


@njit_inline
def take_chunk(cells: IntArray) -> int:
    """Return the number of a chunk that no other thread takes."""
    chunk: int = _increment(_cell(address(cells), NEXT))
    return chunk


@njit_inline
def finish_chunk(cells: IntArray, problem: int) -> None:
    """Count a chunk as finished, with a problem or 0."""
    if problem < 0:
        _write(problem, _cell(address(cells), PROBLEM))
    _increment(_cell(address(cells), DONE))


@njit_helper
def wait_for_chunks(cells: IntArray, chunks: int) -> int:
    """Wait until all chunks are finished; return the problem that one of them has, or 0."""
    _wait_until(_cell(address(cells), DONE), chunks)
    problem: int = _read(_cell(address(cells), PROBLEM))
    return problem


# -- threads without a call ------------------------------------------------------------------------


@njit_inline
def count_event(counter: IntArray) -> None:
    """Add one to a counter."""
    _increment(address(counter))


@njit_inline
def poll(counter: IntArray, seen: int) -> None:
    """Return as soon as the counter is above `seen`, or after `MAX_POLLS` looks."""
    place = address(counter)
    for _ in range(MAX_POLLS):
        if _read(place) > seen:
            return
