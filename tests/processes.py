"""Processes that tests start, and send signals to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LONGEST = 120.0
"""Seconds that a test waits for something that usually takes a few: a guard against hanging."""


@contextmanager
def default_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM do what they usually do, here and in processes that are started here.

    Processes inherit ignored signals, and a shell without job control starts what it runs in the
    background with SIGINT ignored: below `make test &`, an interrupt would never arrive.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ignored = [number for number in usual if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, usual[number])
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def start(command: Sequence[object], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that obeys signals; the options are those of `subprocess.Popen`."""
    with default_signals():
        return subprocess.Popen(list(map(str, command)), **options)


def run(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a process that obeys signals to its end; the options are those of `subprocess.run`."""
    with default_signals():
        return subprocess.run(list(map(str, command)), **options)


@contextmanager
def started(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process that is killed at the end of the block, if it has not ended by then."""
    with start(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    """Wait until something is so, as long as the process is there that is to bring it about."""
    until = time.monotonic() + LONGEST
    while not condition():
        assert process.poll() is None, f"the process has ended, with {process.returncode}"
        assert time.monotonic() < until, "the process hangs"
        time.sleep(0.02)


def wait_until_gone(*processes: int) -> None:
    """Wait for the end of processes that are not children of this one."""
    until = time.monotonic() + LONGEST
    while any(map(_is_alive, processes)):
        assert time.monotonic() < until, "a process goes on"
        time.sleep(0.02)


def _is_alive(process: int) -> bool:
    """Whether a process runs; nobody may ask for the exit code of one that has ended."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has just ended, or the system has no such files
        return not Path("/proc/self").exists()
    return state != "Z"


def import_path(*folders: object) -> dict[str, str]:
    """The environment of this process, in which Python also imports from these folders."""
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
