"""One process to a folder."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import IO

from tabnas.errors import TabnasError

NAME = ".lock"
MOMENT = 0.05
"""Seconds; whoever only asks whether a folder is locked is done long before."""
REMOVES_OPEN_FILES = os.name == "posix"
"""Whether the system removes the name of a file while it is open; Windows does not."""


class FolderLock:
    """Held until it is released or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / NAME
        if self._path.exists() and not self._path.is_file():
            # to open a pipe would be to wait for its reader
            raise TabnasError(f"{str(self._path)!r} must be a file, however it is none; remove it")
        self._file = self._opened()
        while not self._is_named():  # whoever had it has removed it meanwhile
            self._file.close()
            self._file = self._opened()

    def _opened(self) -> IO[bytes]:
        file = self._path.open("ab")
        try:
            try:
                _lock(file)
            except OSError:
                sleep(MOMENT)
                _lock(file)
        except OSError:
            file.close()
            raise TabnasError(
                f"another process is at work in {str(self._folder)!r}; wait for it, or name another"
            ) from None
        return file

    def _is_named(self) -> bool:
        """Whether the file that is locked is the one that others would open."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self, *, remove: bool = False) -> None:
        """Let others have the folder; with `remove`, take away the file of the lock as well.

        It goes while it is still locked, so that nobody loses a lock to it. Systems that do not
        remove open files do it after: if another process has opened it by then, it stays.
        """
        if remove and REMOVES_OPEN_FILES:
            self._path.unlink(missing_ok=True)
        self._file.close()
        if remove and not REMOVES_OPEN_FILES:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the folder and all that is in it, the lock last."""
        for path in self._folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != NAME:
                path.unlink(missing_ok=True)
        self.release(remove=True)
        with suppress(OSError):  # another process has it now
            self._folder.rmdir()


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
