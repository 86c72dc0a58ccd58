"""Start processes in tests, and send signals to them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TIMEOUT = 120.0
"""Seconds that a test waits for a process before it fails; usually a few are enough."""


@contextmanager
def default_signals() -> Iterator[None]:
    """Restore the default handlers of SIGINT and SIGTERM, here and in started processes.

    Processes inherit ignored signals, and a shell without job control starts what it runs in the
    background with SIGINT ignored: below `make test &`, an interrupt would never arrive.
    """
    default = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ignored = [number for number in default if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, default[number])
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def start(command: Sequence[object], **options: Any) -> subprocess.Popen[Any]:
    """Start a process with default signals; the options are those of `subprocess.Popen`."""
    with default_signals():
        return subprocess.Popen(list(map(str, command)), **options)


def run(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a process with default signals; the options are those of `subprocess.run`."""
    with default_signals():
        return subprocess.run(list(map(str, command)), **options)


@contextmanager
def started(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process and kill it at the end of the block, if it is still running."""
    with start(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    """Wait until a condition holds; fail if the process ends before."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, f"the process has ended, with {process.returncode}"
        assert time.monotonic() < deadline, "the process hangs"
        time.sleep(0.02)


def wait_until_gone(*processes: int) -> None:
    """Wait for the end of processes that are not children of this one."""
    deadline = time.monotonic() + TIMEOUT
    while any(map(_is_alive, processes)):
        assert time.monotonic() < deadline, "a process is still running"
        time.sleep(0.02)


def _is_alive(process: int) -> bool:
    """Return whether a process runs; exit codes of other processes' children are unknown."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has just ended, or the system has no such files
        return not Path("/proc/self").exists()
    return state != "Z"


def import_path(*folders: object) -> dict[str, str]:
    """Return this environment with these folders added to Python's import path."""
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
