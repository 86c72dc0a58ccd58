"""Ctrl-C and SIGTERM, which stop a run at a moment when nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class RunStopped(KeyboardInterrupt):
    """The run was stopped by a signal, and can be resumed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class StopSignals:
    """The signal to stop that this process has received."""

    def __init__(self) -> None:
        self.received = 0  # the number of the signal, or 0
        self._can_interrupt = False  # whether nothing would be lost by stopping now

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let signals interrupt the block at once; one that has arrived before ends it first."""
        if self.received:
            raise RunStopped(self.received)
        self._can_interrupt = True
        try:
            yield
        finally:
            self._can_interrupt = False

    @contextmanager
    def handle(self, *, repeated_stops: bool) -> Iterator[None]:
        """Within the block, note Ctrl-C and SIGTERM instead of stopping at once.

        With `repeated_stops`, a second signal stops at once. If SIGINT was ignored when the process
        started, as it is in the background of a script (`tabnas search ... &`), it stays ignored:
        that Ctrl-C is for another process. SIGTERM is sent to this process, so it is never ignored.
        """
        before: dict[int, Any] = {}

        def note(number: int, frame: FrameType | None) -> None:
            if self._can_interrupt:
                self.received = number  # for steps of other threads
                raise RunStopped(number)
            if self.received and repeated_stops:
                signal.signal(number, before[number])
                signal.raise_signal(number)
            self.received = number

        handled = [signal.SIGTERM]
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            handled.append(signal.SIGINT)
        for wanted in handled:
            before[wanted] = signal.signal(wanted, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def is_main_thread() -> bool:
    """Return whether this thread can handle signals."""
    return threading.current_thread() is threading.main_thread()
