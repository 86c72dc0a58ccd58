"""How many threads this process works with, and which of its cores are idle.

No result depends on the number: sums have an order of their own, whatever thread computes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

from tabnas.errors import check_int

Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = Lock()
_limit: int | None = None  # that the user has set
_claimed = 0  # cores at work besides that of the first thread


def available_threads() -> int:
    """Return how many threads the machine allows: its cores, without those that others reserve.

    The affinity of the process and the limits of its container count, and `OMP_NUM_THREADS`, by
    which schedulers and parents tell their processes to use fewer.
    """
    cores = _count_cores()
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(cores, int(setting)) if setting.isdecimal() and int(setting) else cores


@cache  # it reads files, and a step of a network asks for idle cores
def _count_cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def get_threads() -> int:
    """Return how many threads may work at a time."""
    return available_threads() if _limit is None else _limit


@contextmanager
def limit_threads(threads: int | None) -> Iterator[None]:
    """Set the number of threads in the block, for the whole process; None changes nothing.

    >>> with limit_threads(2):
    ...     get_threads()
    2
    """
    global _limit
    if threads is None:
        yield
        return
    before, _limit = _limit, check_int("threads", threads, minimum=1)
    try:
        yield
    finally:
        _limit = before


def claim_cores(wanted: int, *, force: bool = False) -> int:
    """Claim up to `wanted` idle cores, besides the caller's own; return how many it got.

    With `force` it gets all, even if others have to share theirs. Release them with
    `release_cores`.
    """
    global _claimed
    threads = get_threads() if wanted > 0 else 1
    with _lock:
        granted = wanted if force else max(0, min(wanted, threads - 1 - _claimed))
        _claimed += granted
    return granted


def release_cores(count: int) -> None:
    """Release cores that `claim_cores` has granted."""
    global _claimed
    with _lock:
        _claimed -= count


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the function of every item, in order; idle cores compute some of them.

    The first error is raised, as by a loop. The function must release Python's global lock for most
    of its time, else threads only wait for each other.

    >>> map_in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    items = list(items)
    helpers = claim_cores(len(items) - 1)
    if not helpers:
        return [function(item) for item in items]
    try:
        with ThreadPoolExecutor(helpers + 1, thread_name_prefix="tabnas-map") as pool:
            return list(pool.map(function, items))
    finally:
        release_cores(helpers)
