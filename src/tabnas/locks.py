"""One process to a folder."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep
from typing import IO

from tabnas.errors import TabnasError

NAME = ".lock"
MOMENT = 0.05
"""Seconds; whoever only asks whether a folder is locked is done long before."""


class FolderLock:
    """Held until it is released or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        if path.exists() and not path.is_file():  # to open a pipe would be to wait for its reader
            raise TabnasError(f"{str(path)!r} must be a file, however it is none; remove it")
        self._file: IO[bytes] = path.open("ab")
        try:
            try:
                _lock(self._file)
            except OSError:
                sleep(MOMENT)
                _lock(self._file)
        except OSError:
            self._file.close()
            raise TabnasError(
                f"another process is at work in {str(folder)!r}; wait for it, or name another"
            ) from None

    def release(self) -> None:
        """Let others have the folder.

        The file stays: if it went, one process could lock it while another locks its successor.
        """
        self._file.close()


def is_locked(folder: Path) -> bool:
    """Whether a process is at work in a folder; writes nothing and waits for nobody."""
    path = folder / NAME
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            _lock_shared(file)  # until the file is closed
    except OSError:
        return True
    return False


if os.name == "posix":
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_shared(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)

else:
    import msvcrt  # type: ignore[import-not-found,unused-ignore]

    def _lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]

    _lock_shared = _lock
