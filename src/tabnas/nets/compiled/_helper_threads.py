"""Threads that help the calling thread with a kernel; kernels release Python's global lock.

There is one set of them in a process, for all engines, each started when it is first needed. Calls
go through queues, which would suffice. A counter only makes it faster (see `_teams`): it counts
kernels that have been called with helpers and have released the lock. A thread without a call polls
it for a while before it blocks on its queue.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Thread
from time import perf_counter, thread_time

import numpy as np

from tabnas.nets.compiled._kernels import KERNELS
from tabnas.nets.compiled._teams import ANNOUNCED, CELL, FIRST_MEMBER, OVER, PATIENCE
from tabnas.threads import claim_cores, release_cores
from tabnas.types import IntArray

CALLS: IntArray = np.zeros(1, np.int64)
"""Counts the kernels that were called with helpers, once they have released the lock."""

MIN_CORE_SHARE = 0.75
"""Of the time of a call that the calling thread must have had a core. With less, other processes
use the cores, and threads that wait for each other are slower than a single one."""
REST_SECONDS = 0.1
"""How long there are no helpers after such a call."""

TeamCall = Callable[[int, IntArray], int]
_idle: deque[_Helper] = deque()
_process = os.getpid()
_resting_until = 0.0


class _Helper:
    """A thread that calls the kernels it is given."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], object]] = SimpleQueue()
        Thread(target=self._work, name="tabnas-helper", daemon=True).start()

    def _work(self) -> None:
        while True:
            call = self.calls.get()
            call()
            del call  # else the engine behind it would live until the next one
            seen = int(CALLS[0])
            if self.calls.empty():
                KERNELS.poll_calls(CALLS, seen)


def run_with_helpers(call: TeamCall, wanted: int, patience: int) -> int | None:
    """Return call(0, cells), while up to `wanted` idle cores run call(i, cells) for i = 1, 2, ...

    The cells are new memory for `_teams`; the calling thread looks `patience` times for helpers
    before it begins without them. Return None, and do nothing, if no core is idle.
    """
    global _resting_until
    if perf_counter() < _resting_until or not (helpers := claim_cores(wanted)):
        return None
    cells = np.zeros((FIRST_MEMBER + 1 + helpers) * CELL, np.int64)
    cells[PATIENCE * CELL] = patience
    threads: list[_Helper] = []
    try:
        for i in range(1, 1 + helpers):
            threads.append(_take_helper())
            threads[-1].calls.put(partial(call, i, cells))
        begin, core_begin = perf_counter(), thread_time()
        outcome = call(0, cells)
        end = perf_counter()
        if thread_time() - core_begin < MIN_CORE_SHARE * (end - begin):
            _resting_until = end + REST_SECONDS
        return outcome
    finally:
        cells[ANNOUNCED * CELL] = OVER  # also after an interrupt before the kernel was called
        _idle.extend(threads)  # a call that is put now begins when the last is done
        release_cores(helpers)


def _take_helper() -> _Helper:
    global _process
    if os.getpid() != _process:  # threads do not survive a fork
        _idle.clear()
        _process = os.getpid()
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()
