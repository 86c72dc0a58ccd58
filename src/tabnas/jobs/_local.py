"""Run jobs in several processes of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from functools import partial
from typing import Any

from tabnas.jobs._config import JobConfig
from tabnas.jobs._executor import Executor, ProcessDied, RemoteFunction
from tabnas.jobs._job_process import run_job
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
            process = self._idle.pop() if self._idle else self._start_process()
            try:
                future = process.submit(_run_job, job)
            except BrokenExecutor:  # it died while it was idle
                process.shutdown(kill_workers=True)
            else:
                self._running[future] = (number, process)
                return

    def wait(self, timeout: float) -> Sequence[tuple[int, bytes | ProcessDied]]:
        ended, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in ended]

    def _outcome(self, future: Future[bytes]) -> tuple[int, bytes | ProcessDied]:
        number, process = self._running.pop(future)
        try:
            result = future.result()
        except BrokenExecutor:
            process.shutdown(kill_workers=True)
            return number, ProcessDied()
        self._idle.append(process)
        return number, result

    def close(self) -> None:
        for process in [*self._idle, *(process for _, process in self._running.values())]:
            process.shutdown(kill_workers=True)

    def _start_process(self) -> Any:
        return start_process(partial(_set_function, self._function))


_function: RemoteFunction | None = None
"""In a process that runs jobs: the function that it runs."""


def _set_function(function: RemoteFunction) -> None:
    global _function
    _function = function


def _run_job(job: Any) -> bytes:
    assert _function is not None
    function = _function
    return run_job(function.name, function.version, lambda: function.pickled, job)
