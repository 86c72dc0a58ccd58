"""Jobs on a Dask cluster that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tabnas.errors import TabnasError
from tabnas.jobs._crew import Crew
from tabnas.jobs._errand import Errand
from tabnas.jobs._worker import answered
from tabnas.jobs._workshop import Lost, Workshop

try:
    import dask
    from distributed import Client, Future, KilledWorker, WorkerPlugin, wait
except ImportError:
    raise TabnasError(
        "the backend dask must be installed, however it is not; install it here with "
        'pip install "tabnas[dask]", and on the whole cluster with the same tabnas'
    ) from None

HOW_TO_START = (
    "start one with `dask scheduler`, workers with `dask worker tcp://HOST:8786 --nthreads 1 "
    "--nworkers 4`, and name it with --address or DASK_SCHEDULER_ADDRESS"
)
TO_CONNECT = 10.0  # seconds
TO_BEGIN = 60.0  # seconds for a cluster without workers to get some


class DaskWorkshop(Workshop):
    """Dask's own futures.

    joblib's backend for Dask waits for ever when a job's workers have all died: it is told of an
    error and passes none on. Here the scheduler makes lost jobs again by itself, as often as its
    setting `distributed.scheduler.allowed-failures` says.
    """

    def __init__(self, errand: Errand, crew: Crew) -> None:
        self._most = crew.processes
        self._errand = errand
        self._client = _connected(crew.address)
        self._working: dict[Future, int] = {}
        self._started = 0
        try:
            self._refuse_without_workers()
            self._send()
        except BaseException:
            self.close()
            raise

    def _send(self) -> None:
        try:
            self._client.register_plugin(_Sent(self._errand), name=self._errand.name)
        except Exception as error:  # of no kind of its own, with the worker's as a text
            raise self._unable(error) from None

    def _unable(self, error: Exception) -> TabnasError:
        """For workers that cannot begin: errors of jobs are answers like others."""
        return TabnasError(
            f"the workers of the Dask cluster must be able to import tabnas, however one failed "
            f"({str(error)[:200]}); install tabnas {self._errand.version} on the whole cluster"
        )

    def _refuse_without_workers(self) -> None:
        """A cluster that grows with its work is given some."""
        with suppress(TimeoutError), self._client.as_current():
            wait(self._client.submit(int, pure=False), timeout=TO_BEGIN)
            return
        if not self._client.nthreads():  # else they are busy, and jobs wait their turn
            raise TabnasError(
                f"the Dask cluster must have workers, however it has had none for {TO_BEGIN:.0f} "
                f"seconds; {HOW_TO_START}"
            )

    @property
    def room(self) -> int:
        return self._most or max(1, sum(self._client.nthreads().values()))

    def start(self, number: int, job: Any) -> None:
        errand = self._errand
        self._started += 1
        task = self._client.submit(
            _answer,
            errand.name,
            errand.version,
            job,
            key=f"tabnas-{errand.name}-{self._started}",
        )
        self._working[task] = number

    def done(self, seconds: float) -> Sequence[tuple[int, bytes | Lost]]:
        ended: set[Future] = set()
        with suppress(TimeoutError), self._client.as_current():
            ended = wait(list(self._working), timeout=seconds, return_when="FIRST_COMPLETED").done
        return [(self._working.pop(task), self._got(task)) for task in ended]

    def _got(self, task: Future) -> bytes | Lost:
        try:
            answer: bytes = task.result()
        except KilledWorker as error:
            return Lost(error.allowed_failures + 1)
        except ImportError as error:
            raise self._unable(error) from None
        return answer

    def close(self) -> None:
        with suppress(Exception):  # of a scheduler that is gone
            self._client.cancel(list(self._working))
        with suppress(Exception):  # be the jobs as they may, nothing stays with the workers
            self._client.unregister_worker_plugin(self._errand.name)
        self._client.close()


def _connected(address: str | None) -> Client:
    # without an address Dask would start a cluster
    found = address or dask.config.get("scheduler-address", None)
    if not found:
        raise TabnasError(
            f"the backend dask must have the address of a scheduler, however none was given; "
            f"{HOW_TO_START}"
        )
    try:
        return Client(found, timeout=TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise TabnasError(
            f"there must be a Dask scheduler at {found}, however none answers ({error}); "
            f"{HOW_TO_START}"
        ) from None


class _Sent(WorkerPlugin):  # type: ignore[misc]  # Dask may not be installed
    """Brings the function to every worker, also to those that come later.

    As an argument of jobs it would be data that one worker has, and Dask lets jobs wait for the
    worker that has their data.
    """

    def __init__(self, errand: Errand) -> None:
        self._errand = errand

    def setup(self, worker: object) -> None:
        _functions[self._errand.name] = self._errand.function

    def teardown(self, worker: object) -> None:
        _functions.pop(self._errand.name, None)


_functions: dict[str, bytes] = {}
"""In a worker: what it was sent, by the names of the errands."""


def _answer(name: str, sender: str, job: Any) -> bytes:
    return answered(name, sender, lambda: _functions[name], job)
