"""Run jobs in several processes of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from functools import partial
from typing import Any

from tabnas.jobs._config import JobConfig
from tabnas.jobs._executor import Executor, RemoteFunction, WorkerDied
from tabnas.jobs._worker import run_job
from tabnas.processes import start_process


class LocalExecutor(Executor):
    """Runs jobs in executors of one process each."""

    def __init__(self, function: RemoteFunction, config: JobConfig) -> None:
        self._processes = config.processes or 1
        self._function = function
        self._idle: list[Any] = []
        self._running: dict[Future[bytes], tuple[int, Any]] = {}

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

    def _start_worker(self) -> Any:
        return start_process(partial(_set_function, self._function))


_function: RemoteFunction | None = None
"""In a worker: the function that it runs."""


def _set_function(function: RemoteFunction) -> None:
    global _function
    _function = function


def _run_job(job: Any) -> bytes:
    assert _function is not None
    function = _function
    return run_job(function.name, function.version, lambda: function.pickled, job)
