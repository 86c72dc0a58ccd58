"""The entry point: signals and the exit code of the process. The commands are imported later."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from tabnas.cli._errors import INTERRUPTED, TERMINATED


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    interrupt = signal.getsignal(signal.SIGINT)
    handles_interrupts = interrupt is signal.default_int_handler
    if handles_interrupts:
        # While commands are imported there is nothing to lose, and an exception would print a
        # traceback, or be caught by a module that is being imported.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from tabnas.cli._main import get_root_command, run

    get_root_command()
    if handles_interrupts:
        signal.signal(signal.SIGINT, interrupt)
    # as an exception, so that files and checkpoints are completed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # another one, while the first was handled
        code = INTERRUPTED
    if code == INTERRUPTED:
        # At its end, Python would print a traceback, or end itself by the signal.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # If Ctrl-C has interrupted a call of `exec`, as dataclasses make when modules are imported,
        # Python ends itself by the signal and not with the exit code. The next call prevents that.
        exec("")
    sys.exit(code)
