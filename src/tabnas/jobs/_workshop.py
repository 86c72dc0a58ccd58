"""What every place where jobs are made has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lost:
    """In place of an answer: no worker has lived to give it."""

    workers: int = 1  # that died of it


class Workshop(ABC):
    """Takes jobs by their numbers, and gives an answer to each, in any order."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many jobs it takes at once; asked for anew, since a cluster grows with its work."""

    @abstractmethod
    def start(self, number: int, job: Any) -> None:
        """Let a worker make a job."""

    @abstractmethod
    def done(self, seconds: float) -> Sequence[tuple[int, bytes | Lost]]:
        """Answers that have come, after waiting for one at most so long."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers go, whatever they are at."""
