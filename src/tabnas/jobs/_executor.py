"""The interface of executors, which run jobs in other processes."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4


@dataclass(frozen=True, kw_only=True)
class RemoteFunction:
    """A pickled function. A process receives and unpickles it once, and calls it for many jobs."""

    name: str  # unique
    version: str  # of tabnas here; all processes must have the same
    pickled: bytes

    @classmethod
    def from_function(cls, function: Callable[[Any], Any]) -> RemoteFunction:
        """Pickle a function."""
        return cls(name=uuid4().hex, version=version("tabnas"), pickled=pickle.dumps(function))


@dataclass(frozen=True)
class ProcessDied:
    """The outcome of a job whose process died before it returned a result."""

    processes: int = 1  # that died while running the job


class Executor(ABC):
    """Runs jobs, each known by its number, and returns their outcomes in any order."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """The number of jobs it runs at a time. It may change, since a cluster may grow."""

    @abstractmethod
    def submit(self, number: int, job: Any) -> None:
        """Let a process run a job."""

    @abstractmethod
    def wait(self, timeout: float) -> Sequence[tuple[int, bytes | ProcessDied]]:
        """Return the outcomes of finished jobs; wait up to `timeout` seconds for the first."""

    @abstractmethod
    def close(self) -> None:
        """End the processes, also those that are running jobs."""
