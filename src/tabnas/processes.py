"""Processes that must not outlive their parent."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread
from time import sleep

POLL_SECONDS = 0.5


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
