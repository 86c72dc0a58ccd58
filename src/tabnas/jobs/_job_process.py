"""What a process does that runs jobs: it unpickles the function once, then calls it for each."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib.metadata import version
from threading import Lock
from traceback import format_exc
from typing import Any

from tabnas.blas import single_threaded_blas
from tabnas.errors import TabNASError
from tabnas.threads import limit_threads

Function = Callable[[Any], Any]
_JOB_LOCK = Lock()
"""A Dask worker may have several threads, but jobs keep tables in memory and measure their time."""

_loaded: dict[str, Function] = {}
"""The function that this process received last, by name."""


def run_job(name: str, sender_version: str, fetch_function: Callable[[], bytes], job: Any) -> bytes:
    """Run a job and return its result, or the error that it raises, as bytes.

    `fetch_function` returns the pickled function; it is called if this process does not have it
    yet. `sender_version` is the tabnas version of the process that sent it. Results are bytes so
    that arrays arrive writable: Ray would return them as read-only views.
    """
    from threadpoolctl import threadpool_limits

    with _JOB_LOCK:
        try:
            if name not in _loaded:
                _check_version(sender_version)
                _loaded.clear()
                _loaded[name] = pickle.loads(fetch_function())
            # there is a process for each core, so each has one thread
            with (
                single_threaded_blas(),
                threadpool_limits(1, user_api="openmp"),
                limit_threads(1),
            ):
                result = _loaded[name](job)
            return pickle.dumps((result, None))
        except Exception as error:
            error.add_note(f"In a process that runs jobs:\n\n{format_exc()}")
            return pickle.dumps((None, _make_picklable(error)))


def unpack_result(content: bytes) -> Any:
    """Return the result of a job, or raise its error."""
    result, error = pickle.loads(content)
    if error is not None:
        raise error
    return result


def _make_picklable(error: Exception) -> Exception:
    """Return the error, or one with the same text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        other = RuntimeError(f"{type(error).__name__}: {error}")
        other.__notes__ = error.__notes__
        return other
    return error


def _check_version(sender_version: str) -> None:
    here = version("tabnas")
    if here != sender_version:
        raise TabNASError(
            f"all processes must have the tabnas version of the sender of jobs, {sender_version}, "
            f"got {here}; install the same version on all machines of the cluster"
        )
