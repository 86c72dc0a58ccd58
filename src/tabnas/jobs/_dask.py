"""Run jobs on an existing Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tabnas.errors import TabNASError
from tabnas.jobs._config import JobConfig
from tabnas.jobs._executor import Executor, ProcessDied, RemoteFunction
from tabnas.jobs._job_process import run_job

try:
    import dask
    from distributed import Client, Future, KilledWorker, WorkerPlugin, wait
except ImportError:
    raise TabNASError(
        "the backend dask requires Dask, which is not installed; install it here with "
        'pip install "tabnas[dask]", and on all machines of the cluster with the same tabnas'
    ) from None

HOW_TO_START = (
    "start one with `dask scheduler`, workers with `dask worker tcp://HOST:8786 --nthreads 1 "
    "--nworkers 4`, and pass its address with --address or DASK_SCHEDULER_ADDRESS"
)
CONNECT_TIMEOUT = 10.0  # seconds
FIRST_WORKER_TIMEOUT = 60.0  # seconds, for a cluster without workers to start some


class DaskExecutor(Executor):
    """Runs each job as a Dask future.

    joblib's backend for Dask waits forever when all workers of a job have died, because it does not
    pass on the error. Here the scheduler runs lost jobs again, as often as its setting
    `distributed.scheduler.allowed-failures` says.
    """

    def __init__(self, function: RemoteFunction, config: JobConfig) -> None:
        self._processes = config.processes
        self._function = function
        self._client = _connect(config.address)
        self._running: dict[Future, int] = {}
        self._submitted = 0
        try:
            self._check_workers()
            self._send_function()
        except BaseException:
            self.close()
            raise

    def _send_function(self) -> None:
        try:
            self._client.register_plugin(_FunctionPlugin(self._function), name=self._function.name)
        except Exception as error:  # a plain Exception with the worker's error as text
            raise self._import_error(error) from None

    def _import_error(self, error: Exception) -> TabNASError:
        """Return the error for workers that cannot start; errors of jobs are results instead."""
        return TabNASError(
            f"a worker of the Dask cluster cannot import tabnas ({str(error)[:200]}); install "
            f"tabnas {self._function.version} on all machines of the cluster"
        )

    def _check_workers(self) -> None:
        """Raise an error if the cluster has no workers, also after it was given some work."""
        with suppress(TimeoutError), self._client.as_current():
            wait(self._client.submit(int, pure=False), timeout=FIRST_WORKER_TIMEOUT)
            return
        if not self._client.nthreads():  # else they are busy, and jobs wait
            raise TabNASError(
                "the Dask cluster must have workers, got none in "
                f"{FIRST_WORKER_TIMEOUT:.0f} seconds; {HOW_TO_START}"
            )

    @property
    def capacity(self) -> int:
        return self._processes or max(1, sum(self._client.nthreads().values()))

    def submit(self, number: int, job: Any) -> None:
        function = self._function
        self._submitted += 1
        task = self._client.submit(
            _run_job,
            function.name,
            function.version,
            job,
            key=f"tabnas-{function.name}-{self._submitted}",
        )
        self._running[task] = number

    def wait(self, timeout: float) -> Sequence[tuple[int, bytes | ProcessDied]]:
        ended: set[Future] = set()
        with suppress(TimeoutError), self._client.as_current():
            ended = wait(list(self._running), timeout=timeout, return_when="FIRST_COMPLETED").done
        return [(self._running.pop(task), self._outcome(task)) for task in ended]

    def _outcome(self, task: Future) -> bytes | ProcessDied:
        try:
            result: bytes = task.result()
        except KilledWorker as error:
            return ProcessDied(error.allowed_failures + 1)
        except ImportError as error:
            raise self._import_error(error) from None
        return result

    def close(self) -> None:
        with suppress(Exception):  # the scheduler may have ended
            self._client.cancel(list(self._running))
        with suppress(Exception):  # whatever became of the jobs, leave nothing with the workers
            self._client.unregister_worker_plugin(self._function.name)
        self._client.close()


def _connect(address: str | None) -> Client:
    # without an address Dask would start a cluster
    address = address or dask.config.get("scheduler-address", None)
    if not address:
        raise TabNASError(
            "the backend dask requires the address of a scheduler, got none; " + HOW_TO_START
        )
    try:
        return Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise TabNASError(
            f"no Dask scheduler answers at {address} ({error}); {HOW_TO_START}"
        ) from None


class _FunctionPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask may not be installed
    """Sends the function to every worker, also to those that join later.

    As an argument of jobs it would be data that one worker holds, and Dask lets jobs wait for the
    worker that holds their data.
    """

    def __init__(self, function: RemoteFunction) -> None:
        self._function = function

    def setup(self, worker: object) -> None:
        _functions[self._function.name] = self._function.pickled

    def teardown(self, worker: object) -> None:
        _functions.pop(self._function.name, None)


_functions: dict[str, bytes] = {}
"""In a Dask worker: the pickled functions that it has received, by name."""


def _run_job(name: str, sender_version: str, job: Any) -> bytes:
    return run_job(name, sender_version, lambda: _functions[name], job)
