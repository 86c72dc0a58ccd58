"""Processes that must not outlive the one that started them."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread
from time import sleep

POLL_SECONDS = 0.5


def watch_parent(parent: int, on_loss: Callable[[], None]) -> None:
    """Call `on_loss` in a thread of its own once the process `parent` is gone.

    `parent` is the parent of this process. Pass the number that it knows of itself, if possible:
    `os.getppid()` is already another one if it has died in the meantime.

    A process whose parent has died gets another one at once, on Linux and on macOS, so a thread
    sees it by polling. The thread gets its turn during long computations too, since compiled
    kernels, linear algebra and waiting release Python's global lock. Other ways fall short: the
    signal that Linux can send at the death of a parent (`PR_SET_PDEATHSIG`) is unknown to macOS,
    and comes when the parent's *thread* ends that started the process; a pipe from the parent stays
    open as long as any other of its children has inherited it. On Windows a process keeps the
    number of its parent, and this function does nothing.
    """
    if os.name == "posix":
        Thread(target=_watch, args=(parent, on_loss), name="watch parent", daemon=True).start()


def _watch(parent: int, on_loss: Callable[[], None]) -> None:
    while os.getppid() == parent:
        sleep(POLL_SECONDS)
    on_loss()
