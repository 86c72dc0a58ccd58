"""Run jobs on an existing Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tabnas.errors import TabNASError
from tabnas.jobs._config import JobConfig
from tabnas.jobs._executor import Executor, ProcessDied, RemoteFunction
from tabnas.jobs._job_process import run_job

try:
    import ray
    from ray.exceptions import (
        LocalRayletDiedError,
        NodeDiedError,
        ObjectLostError,
        OutOfMemoryError,
        RayTaskError,
        WorkerCrashedError,
    )
except ImportError:
    raise TabNASError(
        "the backend ray requires Ray, which is not installed; install it here with "
        'pip install "tabnas[ray]", and on all machines of the cluster with the same tabnas'
    ) from None

PROCESS_DIED_ERRORS = (
    WorkerCrashedError,
    NodeDiedError,
    LocalRayletDiedError,
    OutOfMemoryError,
    ObjectLostError,
)
HOW_TO_START = (
    "start one with `ray start --head`, join other machines with `ray start --address "
    "HOST:6379`, and pass its address with --address or RAY_ADDRESS"
)
CONNECT_TIMEOUT, CANCEL_TIMEOUT = 10.0, 5.0  # seconds


class RayExecutor(Executor):
    """Runs each job as a Ray task with one core.

    `ray.util.joblib` returns no result before all are done (to joblib it is a multiprocessing pool,
    which has no `return_as="generator_unordered"`), and loses all jobs when one process dies.
    """

    def __init__(self, function: RemoteFunction, config: JobConfig) -> None:
        self._processes = config.processes
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            _connect(config.address)
        self._function = function
        self._stored_function = ray.put(function.pickled)
        self._run_job = ray.remote(num_cpus=1, max_retries=0)(_run_job)
        self._running: dict[Any, int] = {}

    @property
    def capacity(self) -> int:
        return self._processes or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, number: int, job: Any) -> None:
        name, version = self._function.name, self._function.version
        # in a list, Ray passes the reference, and a process fetches the function if it needs it
        task = self._run_job.remote(name, version, [self._stored_function], job)
        self._running[task] = number

    def wait(self, timeout: float) -> Sequence[tuple[int, bytes | ProcessDied]]:
        ended, _ = ray.wait(list(self._running), num_returns=1, timeout=timeout)
        return [(self._running.pop(task), _outcome(task, self._function.version)) for task in ended]

    def close(self) -> None:
        tasks = list(self._running)
        for task in tasks:
            with suppress(Exception):  # the task has just ended, or the cluster has ended
                ray.cancel(task, force=True)
        if self._connected_here:
            # Ray may crash this process if it disconnects while a cancellation is under way
            with suppress(Exception):
                ray.wait(tasks, num_returns=len(tasks), timeout=CANCEL_TIMEOUT)
            ray.shutdown()


def _connect(address: str | None) -> None:
    # "auto" is the cluster of this machine; without it Ray would start one
    address = address or os.environ.get("RAY_ADDRESS") or "auto"
    where = "on this machine" if address == "auto" else f"at {address}"
    try:
        if address != "auto":
            _check_port(address)
        with _preserve_sigterm():
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TabNASError(f"no Ray cluster answers {where} ({reason}); {HOW_TO_START}") from None


def _check_port(address: str) -> None:
    """Fail at once if nothing listens at the address: Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ValueError("address must be HOST:PORT or ray://HOST:PORT")
    socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT).close()


@contextmanager
def _preserve_sigterm() -> Iterator[None]:
    """Restore the SIGTERM handler of the run, which Ray replaces when it connects."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _outcome(task: Any, version: str) -> bytes | ProcessDied:
    try:
        result: bytes = ray.get(task)
    except PROCESS_DIED_ERRORS:
        return ProcessDied()
    except RayTaskError as error:  # errors of jobs are results; this process could not even start
        reason = str(error).strip().splitlines()[-1]
        raise TabNASError(
            f"a worker of the Ray cluster cannot import tabnas ({reason}); install "
            f"tabnas {version} on all machines of the cluster"
        ) from None
    return result


def _run_job(name: str, sender_version: str, function: list[Any], job: Any) -> bytes:
    return run_job(name, sender_version, lambda: bytes(ray.get(function[0])), job)
