"""Limit BLAS to one thread, so that its sums always have the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController

Key = tuple[str, int]
"""What has a number of threads: a library file, and a thread if it has one per thread (else 0)."""


@dataclass
class _LimitedLibrary:
    """A library that is limited to one thread."""

    library: Any
    threads_before: int
    holders: int = 0  # active `single_threaded_blas` contexts


_lock = Lock()
_limited: dict[Key, _LimitedLibrary] = {}


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while any thread of this process is in this context.

    The number of threads of a BLAS belongs to the process, not to the caller. So the first context
    to be entered limits it, and the last to be left restores it. Contexts can be nested; an inner
    one also limits libraries that were loaded since. Libraries that are imported inside a context
    are not limited, so import them before.

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
    limited = _limited.setdefault(key, _LimitedLibrary(library, library.num_threads))
    limited.holders += 1
    _set_threads(library, 1)
    return key


def _leave(key: Key) -> None:
    limited = _limited[key]
    limited.holders -= 1
    if limited.holders == 0:
        _set_threads(limited.library, limited.threads_before)
        del _limited[key]


def _set_threads(library: Any, threads: int) -> None:
    """Set the number of threads, from any thread.

    From 3.8 on, threadpoolctl ignores all threads but the first that has set the number. Here the
    last context to be left must be able to set it, and later contexts in other threads too.
    """
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(threads)
    release(force=True)
