"""Jobs for processes, which log what they do."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

from tabnas.errors import TabNASError
from tabnas.threads import get_threads

VICTIM = 0
"""The job whose first process waits to be killed."""


class UnpicklableError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def note(log: Path, job: int) -> None:
    with log.open("a") as file:
        file.write(f"{job} {os.getpid()}\n")


def notes(log: Path) -> list[tuple[int, int]]:
    """Return the job and the process id for every start of a job."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(job), int(process)) for job, process in map(str.split, lines)]


def wait_for_process(log: Path, job: int) -> int:
    """Wait until a process has started a job, and return its id."""
    while job not in dict(notes(log)):
        time.sleep(0.05)
    return dict(notes(log))[job]


def square_slowly(log: Path, job: int) -> int:
    """Square a number; the first start of the job `VICTIM` never returns."""
    note(log, job)
    if job == VICTIM and [started for started, _ in notes(log)].count(VICTIM) == 1:
        time.sleep(600)
    return job**2


def kill_process(log: Path, job: int) -> int:
    """Kill the process that runs job 1."""
    note(log, job)
    if job == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def run_until_removed(log: Path, job: int) -> None:
    """Run until the log is removed."""
    note(log, job)
    while log.exists():
        time.sleep(0.05)


def run_forever(log: Path, job: int) -> None:
    """Wait (job 1), or compute outside of Python, as compiled kernels do (job 2), for long."""
    note(log, job)
    if job == 1:
        time.sleep(1e6)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)


def refuse(job: int) -> int:
    raise TabNASError(f"no {job} here")


def raise_unpicklable(job: int) -> int:
    raise UnpicklableError(job, job)


def describe(job: str) -> object:
    """Return the number of threads of tabnas and each linear algebra library, or an array.

    The array is large enough for Ray to keep it in shared memory.
    """
    from threadpoolctl import threadpool_info

    array = np.ones((400, 400))
    product = array @ array  # libraries start their threads when they are used
    counts = [get_threads(), *(library["num_threads"] for library in threadpool_info())]
    return counts if job == "threads" else product
