"""Threads that each run one worker's kernel; the kernels release Python's global lock.

Jobs and results go through queues, which would suffice. The event counters only make it faster (see
_event_counters): counter 0 counts the jobs that worker 0 has begun, counter w those that worker w
has finished. A thread that waits polls the counter for a while before it blocks on the queue.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from tabnas.types import IntArray

Job = Callable[[int], float]
Results = SimpleQueue[tuple[int, float | BaseException]]
Jobs = SimpleQueue[tuple[Job, Results] | None]
CountAndPoll = Callable[[IntArray, int, int, int], None]


class WorkerPool:
    """`size` workers: the calling thread is worker 0, the others wait for jobs.

    `count_and_poll(event_counters, index, other, seen)` adds one to counter `index`, unless it is
    -1, and polls counter `other` until it is above `seen`, or for a while. Worker 0's job should
    count its event once it has released Python's lock.
    """

    def __init__(self, size: int, count_and_poll: CountAndPoll) -> None:
        self.size = size
        self.event_counters: IntArray = np.zeros(size, np.int64)
        # a polling thread needs a core to itself, or it keeps another worker from working
        self._count_and_poll = count_and_poll if size <= _available_cores() else _skip_polling
        self._process = -1
        self._jobs: list[Jobs] = []
        self._threads: list[threading.Thread] = []

    def run(self, job: Job, workers: int) -> list[float]:
        """Run job(0), ..., job(workers - 1) side by side and return their results in that order."""
        if os.getpid() != self._process:  # threads do not survive a fork
            self._start()
        try:
            outcomes = self._run(job, workers)
        except BaseException:  # an interrupt while waiting: no thread may write after it
            self._stop()
            raise
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return outcomes

    def _run(self, job: Job, workers: int) -> list[Any]:
        finished = self.event_counters.tolist()
        results: Results = SimpleQueue()
        for worker in range(1, workers):
            self._jobs[worker].put((job, results))
        outcomes: list[Any] = [None] * workers
        try:
            outcomes[0] = job(0)
        except BaseException as error:
            outcomes[0] = error
        for worker in range(1, workers):
            self._count_and_poll(self.event_counters, -1, worker, finished[worker])
        for _ in range(1, workers):
            worker, outcome = results.get()
            outcomes[worker] = outcome
        return outcomes

    def _start(self) -> None:
        self._jobs = [SimpleQueue() for _ in range(self.size)]
        self._threads = []
        for worker in range(1, self.size):
            arguments = (worker, self._jobs[worker], self.event_counters, self._count_and_poll)
            thread = threading.Thread(target=_work, args=arguments, daemon=True)
            thread.start()
            self._threads.append(thread)
            weakref.finalize(self, self._jobs[worker].put, None)
        self._process = os.getpid()

    def _stop(self) -> None:
        """Let the workers finish their jobs and end; the next run starts new ones."""
        self._process = -1
        for jobs in self._jobs[1:]:
            jobs.put(None)
        for thread in self._threads:
            thread.join()


def _work(worker: int, jobs: Jobs, event_counters: IntArray, count_and_poll: CountAndPoll) -> None:
    while (task := jobs.get()) is not None:
        job, results = task
        try:
            results.put((worker, job(worker)))
        except BaseException as error:
            results.put((worker, error))
        del task, job  # else the engine behind it would live until the next one
        count_and_poll(event_counters, worker, 0, int(event_counters[0]))


def _skip_polling(event_counters: IntArray, index: int, other: int, seen: int) -> None:
    """Block on the queue at once."""


def _available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
