"""Jobs on a Ray cluster that is there already."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tabnas.errors import TabnasError
from tabnas.jobs._crew import Crew
from tabnas.jobs._errand import Errand
from tabnas.jobs._worker import answered
from tabnas.jobs._workshop import Lost, Workshop

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
    raise TabnasError(
        "the backend ray must be installed, however it is not; install it here with "
        'pip install "tabnas[ray]", and on the whole cluster with the same tabnas'
    ) from None

DIED = (WorkerCrashedError, NodeDiedError, LocalRayletDiedError, OutOfMemoryError, ObjectLostError)
HOW_TO_START = (
    "start one with `ray start --head`, join other machines with `ray start --address "
    "HOST:6379`, and name it with --address or RAY_ADDRESS"
)
TO_CONNECT = 10.0  # seconds


class RayWorkshop(Workshop):
    """Tasks of Ray's own, one core each.

    `ray.util.joblib` gives no result before all are there (it is a multiprocessing pool to joblib,
    and those have no `return_as="generator_unordered"`), and loses all with one worker that dies.
    """

    def __init__(self, errand: Errand, crew: Crew) -> None:
        self._most = crew.processes
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            _connect(crew.address)
        self._errand = errand
        self._function = ray.put(errand.function)
        self._answer = ray.remote(num_cpus=1, max_retries=0)(_answer)
        self._working: dict[Any, int] = {}

    @property
    def room(self) -> int:
        return self._most or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def start(self, number: int, job: Any) -> None:
        errand = self._errand
        # in a list, the function stays where it is until a worker asks for it
        task = self._answer.remote(errand.name, errand.version, [self._function], job)
        self._working[task] = number

    def done(self, seconds: float) -> Sequence[tuple[int, bytes | Lost]]:
        ended, _ = ray.wait(list(self._working), num_returns=1, timeout=seconds)
        return [(self._working.pop(task), _got(task, self._errand.version)) for task in ended]

    def close(self) -> None:
        for task in self._working:
            with suppress(Exception):  # of a task that has just ended, or a cluster that is gone
                ray.cancel(task, force=True)
        if self._connected_here:
            ray.shutdown()


def _connect(address: str | None) -> None:
    # "auto" is the cluster of this machine; without it Ray would start one
    address = address or os.environ.get("RAY_ADDRESS") or "auto"
    where = "on this machine" if address == "auto" else f"at {address}"
    try:
        if address != "auto":
            _knock(address)
        with _our_own_signals():
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200]
        raise TabnasError(
            f"there must be a Ray cluster {where}, however none answers ({said}); {HOW_TO_START}"
        ) from None


def _knock(address: str) -> None:
    """Fail at once where nobody is: Ray itself would go on trying for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ValueError("an address is HOST:PORT or ray://HOST:PORT")
    socket.create_connection((host, int(port)), timeout=TO_CONNECT).close()


@contextmanager
def _our_own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it connects; a run has its own answer to it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _got(task: Any, version: str) -> bytes | Lost:
    try:
        answer: bytes = ray.get(task)
    except DIED:
        return Lost()
    except RayTaskError as error:  # errors of jobs are answers: this worker could not even begin
        said = str(error).strip().splitlines()[-1]
        raise TabnasError(
            f"the workers of the Ray cluster must be able to import tabnas, however one failed "
            f"({said}); install tabnas {version} on the whole cluster"
        ) from None
    return answer


def _answer(name: str, sender: str, function: list[Any], job: Any) -> bytes:
    return answered(name, sender, lambda: bytes(ray.get(function[0])), job)
