"""How many threads this process works with, and which of its cores are idle.

No result depends on the number: sums have an order of their own, whatever thread computes them.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from math import ceil
from pathlib import Path
from threading import Event, Lock
from typing import TypeVar

from tabnas.errors import check_int

Item = TypeVar("Item")
Result = TypeVar("Result")

CGROUP = Path("/sys/fs/cgroup")
NO_QUOTA = sys.maxsize
MAX_CHUNKS = 8  # of a table that are in memory at a time, whatever the number of threads

_lock = Lock()
_limit: ContextVar[int | None] = ContextVar("threads", default=None)  # that the user has set
_claimed = 0  # cores at work besides that of the first thread


def available_threads() -> int:
    """Return how many threads the machine allows: its cores, without those that others reserve.

    The affinity of the process and the limits of its container count, and `OMP_NUM_THREADS`, by
    which schedulers and parents tell their processes to use fewer.
    """
    cores = count_cores()
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(cores, int(setting)) if setting.isdecimal() and int(setting) else cores


@cache  # it reads files, and a step of a network asks for idle cores
def count_cores() -> int:
    """Return the cores of this process: by its affinity, and by the quota of its container."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(cores, _read_quota(CGROUP)))


def _read_quota(folder: Path) -> int:
    """Return how many cores the control group of a container may use, rounded up."""
    try:
        if (folder / "cpu.max").exists():  # version 2
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quota, period = ((folder / "cpu" / name).read_text() for name in names)
        cores = ceil(int(quota) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # there is no such file, or "max" in it
        return NO_QUOTA
    return cores if cores > 0 else NO_QUOTA


def get_threads() -> int:
    """Return the maximum number of threads at work at a time."""
    limit = _limit.get()
    return available_threads() if limit is None else limit


@contextmanager
def limit_threads(threads: int | None) -> Iterator[None]:
    """Set the number of threads in the block; None changes nothing.

    >>> with limit_threads(2):
    ...     get_threads()
    2
    """
    if threads is None:
        yield
        return
    token = _limit.set(check_int("threads", threads, minimum=1))
    try:
        yield
    finally:
        _limit.reset(token)


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


def stream_in_threads(
    function: Callable[[Item], Result], chunks: Iterable[Item], *, count: int = MAX_CHUNKS
) -> Iterator[Result]:
    """Yield the function of every chunk, in order; idle cores compute some of them ahead.

    It holds a few chunks at a time, for what is larger than memory. The threads take the chunks by
    turns, so that reading them may be slow, too. An error is raised in the place of its chunk. At
    most `count` threads work, which may be the number of chunks. The function should release
    Python's global lock for most of its time, else threads only wait for each other.

    >>> list(stream_in_threads(abs, iter([-1, 2, -3])))
    [1, 2, 3]
    """
    helpers = claim_cores(min(count, MAX_CHUNKS) - 1)
    if not helpers:
        yield from map(function, chunks)
        return
    source = iter(chunks)

    def take_turn(turn: Event, next_turn: Event) -> list[Result]:
        """Return the result of the next chunk, or nothing if there is none."""
        turn.wait()  # a pool begins in order, so the thread before is at work
        try:
            taken = list(islice(source, 1))
        finally:
            next_turn.set()
        return [function(chunk) for chunk in taken]

    pool = ThreadPoolExecutor(
        helpers + 1, "tabnas-stream", initializer=_limit.set, initargs=(_limit.get(),)
    )
    waiting: deque[Future[list[Result]]] = deque()
    turn = Event()
    turn.set()
    try:
        while True:
            while len(waiting) <= helpers:
                next_turn = Event()
                waiting.append(pool.submit(take_turn, turn, next_turn))
                turn = next_turn
            result = waiting.popleft().result()
            if not result:
                return
            yield result.pop()
    finally:
        pool.shutdown(cancel_futures=True)
        release_cores(helpers)
