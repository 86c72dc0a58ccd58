"""Jobs in several processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any

from tabnas.errors import TabnasError
from tabnas.jobs._crew import Crew
from tabnas.jobs._errand import Errand
from tabnas.jobs._worker import answered
from tabnas.jobs._workshop import Lost, Workshop
from tabnas.processes import watch_parent

try:
    from joblib.externals.loky import ProcessPoolExecutor
except ImportError:  # a joblib that does not bring it along, as that of some Linux distributions
    try:
        from loky import ProcessPoolExecutor
    except ImportError:
        raise TabnasError(
            "several processes need the package loky, however neither joblib brings it along nor "
            "is it installed; install it with pip install loky"
        ) from None

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
IDLE_SECONDS = 60.0
"""A worker ends after so long without a job; on Windows it notices no other end of its parent."""


class LocalWorkshop(Workshop):
    """A pool of one process for each worker.

    One pool of many, as `joblib.Parallel` has it, is lost as a whole when one of its workers dies,
    with the jobs that all others are at.
    """

    def __init__(self, errand: Errand, crew: Crew) -> None:
        self._most = crew.processes or 1
        self._errand = errand
        self._idle: list[ProcessPoolExecutor] = []
        self._working: dict[Future[bytes], tuple[int, ProcessPoolExecutor]] = {}

    @property
    def room(self) -> int:
        return self._most

    def start(self, number: int, job: Any) -> None:
        while True:
            worker = self._idle.pop() if self._idle else self._hired()
            try:
                future = worker.submit(_answer, job)
            except BrokenExecutor:  # it died while it had nothing to do
                worker.shutdown(kill_workers=True)
            else:
                self._working[future] = (number, worker)
                return

    def done(self, seconds: float) -> Sequence[tuple[int, bytes | Lost]]:
        ended, _ = wait(self._working, timeout=seconds, return_when=FIRST_COMPLETED)
        return [self._answer(future) for future in ended]

    def _answer(self, future: Future[bytes]) -> tuple[int, bytes | Lost]:
        number, worker = self._working.pop(future)
        try:
            answer = future.result()
        except BrokenExecutor:
            worker.shutdown(kill_workers=True)
            return number, Lost()
        self._idle.append(worker)
        return number, answer

    def close(self) -> None:
        for worker in [*self._idle, *(worker for _, worker in self._working.values())]:
            worker.shutdown(kill_workers=True)

    def _hired(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            max_workers=1,
            timeout=IDLE_SECONDS,
            initializer=_begin,
            initargs=(self._errand, os.getpid()),
            env=ONE_THREAD,
        )


_errand: Errand | None = None
"""In a worker: what it was hired for."""


def _begin(errand: Errand, parent: int) -> None:
    global _errand
    _errand = errand
    # nobody is left for the result of a job, however long it would take
    watch_parent(parent, lambda: os._exit(1))
    # Ctrl-C reaches all processes of a terminal; the one that hired the workers lets them go
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answer(job: Any) -> bytes:
    assert _errand is not None
    errand = _errand
    return answered(errand.name, errand.version, lambda: errand.function, job)
