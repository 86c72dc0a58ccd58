"""What happens in a worker: the function is unpacked once, then it makes one job after another."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib.metadata import version
from threading import Lock
from traceback import format_exc
from typing import Any

from tabnas.blas import single_threaded_blas
from tabnas.errors import TabnasError

Function = Callable[[Any], Any]
ONE_AT_A_TIME = Lock()
"""A Dask worker may have several threads; jobs that keep tables and time themselves need one."""

_known: dict[str, Function] = {}
"""The function that this process was sent last, by the name of its errand."""


def answered(name: str, sender: str, function: Callable[[], bytes], job: Any) -> bytes:
    """What a job gives, or the error that it raises, as bytes.

    `function` fetches the errand's function, unless it is at hand; `sender` is the version of
    tabnas that sent it. Answers are bytes so that arrays arrive as ordinary ones: out of Ray's own
    hands they would be views that cannot be written.
    """
    from threadpoolctl import threadpool_limits

    with ONE_AT_A_TIME:
        try:
            if name not in _known:
                _refuse_other_version(sender)
                _known.clear()
                _known[name] = pickle.loads(function())
            # as many workers as there are cores have one thread each
            with single_threaded_blas(), threadpool_limits(1, user_api="openmp"):
                result = _known[name](job)
            return pickle.dumps((result, None))
        except Exception as error:
            error.add_note(f"In a worker:\n\n{format_exc()}")
            return pickle.dumps((None, _portable(error)))


def unpacked(answer: bytes) -> Any:
    """The result that a worker gave; its error is raised here."""
    result, error = pickle.loads(answer)
    if error is not None:
        raise error
    return result


def _portable(error: Exception) -> Exception:
    """The error, or one that says the same if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        other = RuntimeError(f"{type(error).__name__}: {error}")
        other.__notes__ = error.__notes__
        return other
    return error


def _refuse_other_version(sender: str) -> None:
    here = version("tabnas")
    if here != sender:
        raise TabnasError(
            f"the workers must have tabnas {sender}, as the process that sends them jobs, however "
            f"one has {here}; install the same version on the whole cluster"
        )
