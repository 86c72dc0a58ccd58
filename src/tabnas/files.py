"""Files: safe reading of untrusted ones, atomic writing, and the user's cache folder."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from tabnas.errors import TabNASError

MAX_PREFIX = 50
"""Characters of a file's name that its temporary file repeats; names have at most 255 bytes."""


def read_file(root: Path, name: str, owner: str, *, max_size: int, min_size: int = 0) -> bytes:
    """Read a file of the folder `root`, and check that it is a regular file of a plausible size.

    A link out of the folder, a device or a pipe is not read. `owner` is what errors call the
    content of the folder, such as "model".
    """
    try:
        path = (root / name).resolve(strict=True)
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            raise TabNASError(
                f"{name} must be a file of the {owner}'s folder, but it is a link out of it or "
                "not a file"
            )
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not min_size <= size <= max_size:
                raise TabNASError(
                    f"{name} must have {min_size:,} to {max_size:,} bytes, but it has {size:,}"
                )
            return file.read(size)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, TabNASError):
            raise
        raise TabNASError(
            f"{str(root)!r} must be the folder of a {owner}, but {name} cannot be read: {error}"
        ) from None


def refuse_links(root: Path, *names: str) -> None:
    """Raise an error if one of the names is a symbolic link, since writing would follow it."""
    for name in names:
        if (root / name).is_symlink():
            raise TabNASError(
                f"{name} must lie in the folder {str(root)!r} itself, but it is a link; "
                "remove it, or put there what it points to"
            )


def atomic_write(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write a file atomically; with `sync`, also if the machine crashes meanwhile.

    A process that is killed may leave a temporary file, which `is_temporary` recognizes.
    """
    with atomic_file(path, sync=sync) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` at the end of the block, unless that fails.

    Like `atomic_write`, for content that is not in memory at once.
    """
    temporary = path.with_name(f".{path.name[:MAX_PREFIX]}.{uuid4().hex[:8]}")
    try:
        with temporary.open("wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder, and so the renames in it, to disk; Windows cannot open folders."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_temporary(path: Path, *names: str) -> bool:
    """Return whether a killed process has left this file or folder while it wrote one of the names.

    Temporary files have the suffixes of `atomic_file`, folders those of `save_model`.
    """
    folder = path.is_dir() and not path.is_symlink()
    ending = r"[0-9a-f]{32}\.(new|old)" if folder else "[0-9a-f]{8}"
    return (folder or path.is_file()) and any(
        re.fullmatch(rf"\.{re.escape(name)}\.{ending}", path.name) for name in names
    )


def remove_temporaries(folder: Path, *names: str) -> None:
    """Remove what killed processes have left while they wrote these names."""
    for path in [path for path in folder.iterdir() if is_temporary(path, *names)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def user_cache_folder() -> Path:
    """Return the user's cache folder for tabnas, without creating it."""
    if os.name == "nt":
        variable, default = "LOCALAPPDATA", "~/AppData/Local"
    elif sys.platform == "darwin":
        variable, default = "", "~/Library/Caches"
    else:
        variable, default = "XDG_CACHE_HOME", "~/.cache"
    folder = Path(os.environ.get(variable, ""))
    return (folder if folder.is_absolute() else Path(default).expanduser()) / "tabnas"
