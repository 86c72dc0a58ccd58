"""Jobs for workers, which leave notes of what they did."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

from tabnas.errors import TabNASError

VICTIM = 0
"""The job whose first worker waits to be killed."""


class PeculiarError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def note(log: Path, job: int) -> None:
    with log.open("a") as file:
        file.write(f"{job} {os.getpid()}\n")


def notes(log: Path) -> list[tuple[int, int]]:
    """Every beginning of a job: the job, and the process of its worker."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(job), int(process)) for job, process in map(str.split, lines)]


def worker_at(log: Path, job: int) -> int:
    """The process of the worker that has begun a job, as soon as there is one."""
    while job not in dict(notes(log)):
        time.sleep(0.05)
    return dict(notes(log))[job]


def laborious(log: Path, job: int) -> int:
    """Squares a number; the first that gets the victim never comes to it."""
    note(log, job)
    if job == VICTIM and [begun for begun, _ in notes(log)].count(VICTIM) == 1:
        time.sleep(600)
    return job**2


def deadly(log: Path, job: int) -> int:
    """Job 1 kills whoever makes it."""
    note(log, job)
    if job == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def endless(log: Path, job: int) -> None:
    """Until the log is taken away."""
    note(log, job)
    while log.exists():
        time.sleep(0.05)


def unstoppable(log: Path, job: int) -> None:
    """Wait (job 1), or compute outside of Python, as compiled kernels do (job 2), for long."""
    note(log, job)
    if job == 1:
        time.sleep(1e6)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)


def refusing(job: int) -> int:
    raise TabNASError(f"no {job} here")


def peculiar(job: int) -> int:
    raise PeculiarError(job, job)


def various(job: str) -> object:
    """How many threads each library for matrices would use, or an array.

    The array is large enough for Ray to keep it in shared memory.
    """
    from threadpoolctl import threadpool_info

    array = np.ones((400, 400))
    product = array @ array  # libraries begin their threads when they are used
    counts = [library["num_threads"] for library in threadpool_info()]
    return counts if job == "threads" else product
