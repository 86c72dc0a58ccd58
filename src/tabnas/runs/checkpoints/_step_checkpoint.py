"""The part of a checkpoint that one step uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.formatting import shorten
from tabnas.states import Arrays

MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError,
)  # fmt: skip


class Resumable(Protocol):
    """Work that can be stopped and resumed, bit for bit."""

    def state_dict(self) -> Mapping[str, NDArray[Any]]: ...

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None: ...


class StepCheckpoint(Protocol):
    """The interface of a checkpoint that the steps of a run use."""

    def __contains__(self, name: str) -> bool: ...

    def result(self, name: str) -> Any: ...

    def arrays(self, name: str) -> Arrays: ...

    def record(
        self, name: str, result: Any, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None: ...

    def forget_arrays(self, name: str) -> None: ...

    def start_or_restore(self, name: str, work: Resumable) -> None: ...

    def abandon(self) -> None: ...

    def save_if_due(self) -> None: ...

    def save(self) -> None: ...

    def interruptible(self) -> AbstractContextManager[None]: ...


class ScopedCheckpoint:
    """The steps of a checkpoint under a prefix, for steps that run once for each limit."""

    def __init__(self, checkpoint: StepCheckpoint, prefix: str) -> None:
        self._checkpoint = checkpoint
        self._prefix = prefix

    def _full(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def __contains__(self, name: str) -> bool:
        return self._full(name) in self._checkpoint

    def result(self, name: str) -> Any:
        return self._checkpoint.result(self._full(name))

    def arrays(self, name: str) -> Arrays:
        return self._checkpoint.arrays(self._full(name))

    def record(
        self, name: str, result: Any, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        self._checkpoint.record(self._full(name), result, arrays)

    def forget_arrays(self, name: str) -> None:
        self._checkpoint.forget_arrays(self._full(name))

    def start_or_restore(self, name: str, work: Resumable) -> None:
        self._checkpoint.start_or_restore(self._full(name), work)

    def abandon(self) -> None:
        self._checkpoint.abandon()

    def save_if_due(self) -> None:
        self._checkpoint.save_if_due()

    def save(self) -> None:
        self._checkpoint.save()

    def interruptible(self) -> AbstractContextManager[None]:
        return self._checkpoint.interruptible()


class StepCancelledError(Exception):
    """A step was ended because another has failed."""


@contextmanager
def reject_malformed() -> Iterator[None]:
    """Turn any error of the block, which uses the content of a checkpoint, into a `TabNASError`.

    An undamaged checkpoint can still have been forged.
    """
    try:
        yield
    except MALFORMED as error:
        problem = error if isinstance(error, TabNASError) else f"it is malformed, {error!r}"
        raise TabNASError(
            "the checkpoint must be one that this run has written, but it is not "
            f"({shorten(problem, 300)}); start a new run"
        ) from None
