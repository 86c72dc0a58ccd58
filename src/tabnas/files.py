"""Files that may come from anybody: read only from where they belong, and never more than fits."""

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

LONGEST_ASIDE = 50
"""Characters of a file's name that its hidden twin repeats: a name of 255 bytes has no room for
more."""


def read_file(root: Path, name: str, owner: str, *, max_size: int, min_size: int = 0) -> bytes:
    """A regular file of the folder `root` that has a size that can be right.

    A link out of the folder, a device or a pipe is refused unread; `owner` is what errors call the
    thing whose folder it is.
    """
    try:
        path = (root / name).resolve(strict=True)
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            raise TabNASError(
                f"{name} must be a file of the {owner}'s folder, but it is a link out of it or "
                "no file"
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
    """What is written to a folder must not land elsewhere by way of a link that lies in it."""
    for name in names:
        if (root / name).is_symlink():
            raise TabNASError(
                f"{name} must lie in the folder {str(root)!r} itself, but it is a link; "
                "remove it, or put there what it points to"
            )


def atomic_write(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """A file that appears whole or not at all; with `sync`, also if the machine is lost meanwhile.

    What a process that is killed leaves aside has a name that `is_temporary` knows.
    """
    with atomic_file(path, sync=sync) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file to write to that replaces `path` at the end of the block, unless that fails.

    The same as `atomic_write`, for what is not in memory as a whole.
    """
    aside = path.with_name(f".{path.name[:LONGEST_ASIDE]}.{uuid4().hex[:8]}")
    try:
        with aside.open("wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def is_temporary(path: Path, *names: str) -> bool:
    """Whether a process that was killed has left this while it wrote one of the names.

    Files are written aside under the endings of `atomic_file`, folders under those of `save_model`.
    """
    folder = path.is_dir() and not path.is_symlink()
    ending = r"[0-9a-f]{32}\.(new|old)" if folder else "[0-9a-f]{8}"
    return (folder or path.is_file()) and any(
        re.fullmatch(rf"\.{re.escape(name)}\.{ending}", path.name) for name in names
    )


def remove_temporaries(folder: Path, *names: str) -> None:
    """Remove what processes that were killed have left while they wrote these names."""
    for path in [path for path in folder.iterdir() if is_temporary(path, *names)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def user_cache_folder() -> Path:
    """The user's folder for what can be made again; not made by asking."""
    if os.name == "nt":
        given, usual = "LOCALAPPDATA", "~/AppData/Local"
    elif sys.platform == "darwin":
        given, usual = "", "~/Library/Caches"
    else:
        given, usual = "XDG_CACHE_HOME", "~/.cache"
    said = Path(os.environ.get(given, ""))
    return (said if said.is_absolute() else Path(usual).expanduser()) / "tabnas"
