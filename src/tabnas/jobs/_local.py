"""Run jobs in several processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any

from tabnas.errors import TabNASError
from tabnas.jobs._config import JobConfig
from tabnas.jobs._executor import Executor, RemoteFunction, WorkerDied
from tabnas.jobs._worker import run_job
from tabnas.processes import watch_parent

try:
    from joblib.externals.loky import ProcessPoolExecutor
except ImportError:  # a joblib that does not include it, as in some Linux distributions
    try:
        from loky import ProcessPoolExecutor
    except ImportError:
        raise TabNASError(
            "several processes require the package loky, which neither joblib includes nor is "
            "installed; install it with pip install loky"
        ) from None

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
IDLE_TIMEOUT = 60.0  # seconds
"""A worker without a job ends after this time; on Windows it does not notice its parent's end."""


class LocalExecutor(Executor):
    """Runs jobs in pools of one process each.

    A single pool of many processes, as `joblib.Parallel` uses, breaks when one of its workers dies,
    and loses the jobs of all others.
    """

    def __init__(self, function: RemoteFunction, config: JobConfig) -> None:
        self._processes = config.processes or 1
        self._function = function
        self._idle: list[ProcessPoolExecutor] = []
        self._running: dict[Future[bytes], tuple[int, ProcessPoolExecutor]] = {}

    @property
    def capacity(self) -> int:
        return self._processes

    def submit(self, number: int, job: Any) -> None:
        while True:
            worker = self._idle.pop() if self._idle else self._start_worker()
            try:
                future = worker.submit(_run_job, job)
            except BrokenExecutor:  # it died while it was idle
                worker.shutdown(kill_workers=True)
            else:
                self._running[future] = (number, worker)
                return

    def wait(self, timeout: float) -> Sequence[tuple[int, bytes | WorkerDied]]:
        ended, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in ended]

    def _outcome(self, future: Future[bytes]) -> tuple[int, bytes | WorkerDied]:
        number, worker = self._running.pop(future)
        try:
            result = future.result()
        except BrokenExecutor:
            worker.shutdown(kill_workers=True)
            return number, WorkerDied()
        self._idle.append(worker)
        return number, result

    def close(self) -> None:
        for worker in [*self._idle, *(worker for _, worker in self._running.values())]:
            worker.shutdown(kill_workers=True)

    def _start_worker(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            max_workers=1,
            timeout=IDLE_TIMEOUT,
            initializer=_begin,
            initargs=(self._function, os.getpid()),
            env=ONE_THREAD,
        )


_function: RemoteFunction | None = None
"""In a worker: the function that it runs."""


def _begin(function: RemoteFunction, parent: int) -> None:
    global _function
    _function = function
    # without a parent, no process waits for the result of a job
    watch_parent(parent, lambda: os._exit(1))
    # Ctrl-C reaches all processes of a terminal; the parent ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_job(job: Any) -> bytes:
    assert _function is not None
    function = _function
    return run_job(function.name, function.version, lambda: function.pickled, job)
