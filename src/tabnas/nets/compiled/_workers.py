"""Threads that each run one worker's kernel; the kernels release Python's global lock.

Jobs and results go through queues, and all would work with them alone. The board only makes it
faster (see _signals): entry 0 counts the jobs that worker 0 has begun, entry w those that worker w
has finished, and who waits watches it for a while before asking the queue.
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
Watch = Callable[[IntArray, int, int, int], None]


class Crew:
    """`size` workers: the calling thread is worker 0, the others wait for jobs.

    `signal_and_watch(board, own, other, seen)` counts up an entry of the board, unless own is -1,
    and waits until another is above `seen`, or for a while. Worker 0's job should count up entry 0
    once it has released Python's lock.
    """

    def __init__(self, size: int, signal_and_watch: Watch) -> None:
        self.size = size
        self.board: IntArray = np.zeros(size, np.int64)
        # a watcher needs a core of its own, or it keeps another worker from working
        self._watch = signal_and_watch if size <= _cores() else _sleep_at_once
        self._process = -1
        self._jobs: list[Jobs] = []
        self._threads: list[threading.Thread] = []

    def run(self, job: Job, workers: int) -> list[float]:
        """job(0), ..., job(workers - 1), side by side; their results in that order."""
        if os.getpid() != self._process:  # threads do not survive a fork
            self._start()
        try:
            outcomes = self._run(job, workers)
        except BaseException:  # an interrupt while waiting: no one may go on writing after it
            self._stop()
            raise
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return outcomes

    def _run(self, job: Job, workers: int) -> list[Any]:
        finished = self.board.tolist()
        results: Results = SimpleQueue()
        for worker in range(1, workers):
            self._jobs[worker].put((job, results))
        outcomes: list[Any] = [None] * workers
        try:
            outcomes[0] = job(0)
        except BaseException as error:
            outcomes[0] = error
        for worker in range(1, workers):
            self._watch(self.board, -1, worker, finished[worker])
        for _ in range(1, workers):
            worker, outcome = results.get()
            outcomes[worker] = outcome
        return outcomes

    def _start(self) -> None:
        self._jobs = [SimpleQueue() for _ in range(self.size)]
        self._threads = []
        for worker in range(1, self.size):
            arguments = (worker, self._jobs[worker], self.board, self._watch)
            thread = threading.Thread(target=_work, args=arguments, daemon=True)
            thread.start()
            self._threads.append(thread)
            weakref.finalize(self, self._jobs[worker].put, None)
        self._process = os.getpid()

    def _stop(self) -> None:
        """Let the workers finish what they do, and begin with new ones next time."""
        self._process = -1
        for jobs in self._jobs[1:]:
            jobs.put(None)
        for thread in self._threads:
            thread.join()


def _work(worker: int, jobs: Jobs, board: IntArray, watch: Watch) -> None:
    while (task := jobs.get()) is not None:
        job, results = task
        try:
            results.put((worker, job(worker)))
        except BaseException as error:
            results.put((worker, error))
        del task, job  # else the engine behind it would live until the next one
        watch(board, worker, 0, int(board[0]))


def _sleep_at_once(board: IntArray, own: int, other: int, seen: int) -> None:
    """Do not watch."""


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
