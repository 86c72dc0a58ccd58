"""Processes that work for this one, and end with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock, Thread
from time import sleep
from typing import Any, TypeVar

from tabnas.errors import TabNASError

POLL_SECONDS = 0.5
IDLE_TIMEOUT = 60.0  # seconds
"""A process without work ends after this time; on Windows it does not notice its parent's end."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

CANNOT_START = (TabNASError, OSError, AssertionError, RuntimeError)
"""The package is missing, the machine refuses, this process is one of `multiprocessing.Pool`, which
asserts that it has no children, or loky refuses: the process has died, or is one of too many."""

Result = TypeVar("Result")


def start_process(on_start: Callable[[], None] | None = None) -> Any:
    """Return an executor of one process, of joblib's kind, which starts with its first call.

    A single executor of many processes, as `joblib.Parallel` uses, breaks when one of them dies,
    and loses the calls of all others. `on_start` is called there first.
    """
    try:
        from joblib.externals.loky import ProcessPoolExecutor
    except ImportError:  # a joblib that does not include it, as in some Linux distributions
        try:
            from loky import ProcessPoolExecutor
        except ImportError:
            raise TabNASError(
                "several processes require the package loky, which neither joblib includes nor is "
                "installed; install it with pip install loky"
            ) from None
    return ProcessPoolExecutor(
        max_workers=1,
        timeout=IDLE_TIMEOUT,
        initializer=_begin,
        initargs=(os.getpid(), on_start),
        env=ONE_THREAD,
    )


def _begin(parent: int, on_start: Callable[[], None] | None) -> None:
    # without a parent, no process waits for a result
    watch_parent(parent, lambda: os._exit(1))
    # Ctrl-C reaches all processes of a terminal; the parent ends its own
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if on_start is not None:
        on_start()


class ProcessesClosedError(Exception):
    """The processes were ended while one of them worked."""


class Processes:
    """Runs calls of threads in processes, one for each thread that waits."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[Any] = []
        self._all: list[Any] = []
        self._is_closed = False

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call the function in a process; in this one if that cannot start, or dies."""
        try:
            process = self._take()
            future = process.submit(function, *arguments)
        except CANNOT_START:
            if self._is_closed:
                raise ProcessesClosedError from None
            return function(*arguments)
        try:
            result: Result = future.result()
        except Exception as error:
            if self._is_closed:
                raise ProcessesClosedError from None
            if not isinstance(error, BrokenExecutor):
                raise
            result = function(*arguments)
        finally:
            with self._lock:
                self._idle.append(process)  # one that is dead refuses its next call
        return result

    def prepare(self, function: Callable[[], object]) -> None:
        """Start a process and let it call the function, for which nobody waits."""
        with suppress(*CANNOT_START):
            process = self._take()
            process.submit(function)
            with self._lock:
                self._idle.append(process)

    def _take(self) -> Any:
        with self._lock:
            if self._is_closed:
                raise ProcessesClosedError
            if self._idle:
                return self._idle.pop()
            process = start_process()
            self._all.append(process)
            return process

    def close(self) -> None:
        """End all processes, also those at work."""
        with self._lock:
            self._is_closed = True
            for process in self._all:
                process.shutdown(wait=False, kill_workers=True)


_processes: ContextVar[Processes | None] = ContextVar("processes", default=None)


@contextmanager
def use_processes(prepare: Callable[[], object] | None = None) -> Iterator[None]:
    """Let `call_in_process` use processes in the block, and in threads with its context.

    A block within another uses the same processes. With `prepare`, a function to import what calls
    will need, the first process starts at once.
    """
    if _processes.get() is not None:
        yield
        return
    processes = Processes()
    token = _processes.set(processes)
    try:
        if prepare is not None:
            processes.prepare(prepare)
        yield
    finally:
        _processes.reset(token)
        processes.close()


def call_in_process(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in another process, within `use_processes`; else in this one.

    It is for work that keeps Python's global lock, which other threads would have to wait for. The
    function, its arguments and result must be picklable, and the result must not depend on the
    process.
    """
    processes = _processes.get()
    return function(*arguments) if processes is None else processes.call(function, *arguments)


def watch_parent(parent: int, on_loss: Callable[[], None]) -> None:
    """Call `on_loss` in a thread once the process `parent`, the parent of this one, is gone.

    If possible, pass the number that the parent got from `os.getpid()`: if the parent has died in
    the meantime, `os.getppid()` here is already that of another process.

    On Linux and macOS, a process whose parent has died gets another parent at once, so a thread
    notices it by polling. The thread also runs during long computations, since compiled kernels,
    linear algebra and waiting release Python's global lock. Alternatives are worse: macOS does not
    have the signal that Linux can send when a parent dies (`PR_SET_PDEATHSIG`), and that signal
    comes already when the *thread* ends that started the process; a pipe from the parent stays open
    as long as another of its children has inherited it. On Windows a process keeps the number of
    its parent, and this function does nothing.
    """
    if os.name == "posix":
        Thread(target=_watch, args=(parent, on_loss), name="watch parent", daemon=True).start()


def _watch(parent: int, on_loss: Callable[[], None]) -> None:
    while os.getppid() == parent:
        sleep(POLL_SECONDS)
    on_loss()
