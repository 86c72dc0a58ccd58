"""One thread for matrix products and linear systems, so that their sums have one order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController

Key = tuple[str, int]
"""What has one number of threads: the file of a library, and a thread where each has its own."""


@dataclass
class _Limited:
    """A library that is limited to one thread."""

    library: Any
    before: int  # threads that it had
    holders: int = 0  # those inside


_lock = Lock()
_limited: dict[Key, _Limited] = {}


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread as long as anyone is inside, in whatever thread.

    The number of threads of a BLAS belongs to the process, not to the caller. So the first to enter
    limits it and the last to leave restores it. Entering again is allowed, and limits what was
    loaded since; what is imported inside is not limited, so import what computes beforehand.

    >>> with single_threaded_blas(), single_threaded_blas():
    ...     pass
    """
    with _lock:
        libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        held = [_enter(library) for library in libraries]
    try:
        yield
    finally:
        with _lock:
            for key in held:
                _leave(key)


def _enter(library: Any) -> Key:
    per_thread = (
        library.internal_api == "openblas" and getattr(library, "threading_layer", "") == "openmp"
    )
    key = library.filepath, get_ident() if per_thread else 0
    limited = _limited.setdefault(key, _Limited(library, library.num_threads))
    limited.holders += 1
    _set_threads(library, 1)
    return key


def _leave(key: Key) -> None:
    limited = _limited[key]
    limited.holders -= 1
    if limited.holders == 0:
        _set_threads(limited.library, limited.before)
        del _limited[key]


def _set_threads(library: Any, threads: int) -> None:
    """Set the number from any thread.

    From 3.8 on, threadpoolctl ignores all threads but the one that was first to set it. Here
    whoever leaves last has to, and afterwards everybody else must be able to.
    """
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(threads)
    release(force=True)
