"""Locks that let a single process work in a folder."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import IO

from tabnas.errors import TabNASError

LOCK_NAME = ".lock"
RETRY_SECONDS = 0.05
"""A process that only checks whether a folder is locked holds the lock for much less."""
REMOVES_OPEN_FILES = os.name == "posix"
"""Whether the system can remove a file while it is open; Windows cannot."""


class FolderLock:
    """A lock on a folder. It is held until it is released or the process ends, also by a crash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / LOCK_NAME
        if self._path.exists() and not self._path.is_file():
            # opening a pipe would block until it has a reader
            raise TabNASError(f"{str(self._path)!r} must be a file, got something else; remove it")
        self._file = self._open()
        while not self._is_current():  # the process that had the lock has removed the file
            self._file.close()
            self._file = self._open()

    def _open(self) -> IO[bytes]:
        file = self._path.open("ab")
        try:
            try:
                _lock(file)
            except OSError:
                sleep(RETRY_SECONDS)
                _lock(file)
        except OSError:
            file.close()
            raise TabNASError(
                f"another process is working in {str(self._folder)!r}; "
                "wait for it, or choose another folder"
            ) from None
        return file

    def _is_current(self) -> bool:
        """Return whether the locked file is the one that other processes would open."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; with `remove`, also remove its file.

        The file is removed while it is still locked, so that no other process can hold a lock on a
        removed file. Systems that cannot remove open files do it afterwards: if another process has
        opened the file by then, it stays.
        """
        if remove and REMOVES_OPEN_FILES:
            self._path.unlink(missing_ok=True)
        self._file.close()
        if remove and not REMOVES_OPEN_FILES:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the folder and its content, the lock last."""
        for path in self._folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK_NAME:
                path.unlink(missing_ok=True)
        self.release(remove=True)
        with suppress(OSError):  # another process uses it now
            self._folder.rmdir()


def is_locked(folder: Path) -> bool:
    """Return whether a process is working in a folder, without writing or waiting."""
    path = folder / LOCK_NAME
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
