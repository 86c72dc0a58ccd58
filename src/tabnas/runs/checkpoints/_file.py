"""Checkpoint files: written atomically, checked when read, and without code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from tabnas.errors import TabNASError
from tabnas.files import atomic_file, refuse_links, sync_folder
from tabnas.states import Arrays, pack, unpack

MAGIC = b"tabnas checkpoint 1\n"
DIGEST = 32
ENDING = ".checkpoint"
NUMBER = re.compile("[0-9]{6,15}")
MAX_CHECKPOINTS = 2
"""The newest, and the one before in case it is damaged."""


class DamagedCheckpointError(TabNASError):
    """The content of a checkpoint is not what was written."""


def write_checkpoint(folder: Path, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write the next checkpoint to a temporary file, sync it, rename it; then remove old ones."""
    refuse_links(folder.parent, folder.name)
    folder.mkdir(parents=True, exist_ok=True)
    written = _existing(folder)
    number = 1 + (int(written[-1].stem) if written else 0)
    payload = pack(values, arrays)
    with atomic_file(folder / f"{number:06d}{ENDING}") as file:
        file.write(MAGIC + sha256(payload).digest())
        file.write(payload)
    sync_folder(folder)
    leftovers = folder.glob(f".*{ENDING}.*")  # of processes that were killed
    for old in (*_existing(folder)[:-MAX_CHECKPOINTS], *leftovers):
        old.unlink(missing_ok=True)


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], Arrays, str] | None:
    """Return the newest undamaged checkpoint, and a note if a newer one is damaged.

    Return None if there is no checkpoint. Values are JSON and arrays are numbers: reading runs no
    code and takes no more memory than the file is long. The digest shows damage, not intent: the
    caller must check what it reads.
    """
    refuse_links(folder.parent, folder.name)
    note = ""
    for path in reversed(_existing(folder)):
        try:
            return *_read(path), note
        except DamagedCheckpointError as error:
            note = f"{error}; resuming from the one before"
    if note:
        raise TabNASError(f"every checkpoint in {str(folder)!r} is damaged; start a new run")
    return None


def has_checkpoint(folder: Path) -> bool:
    """Return whether the folder holds a checkpoint."""
    return bool(_existing(folder))


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedCheckpointError(
            f"the checkpoint {path.name} cannot be read: {error}"
        ) from None
    start = len(MAGIC) + DIGEST
    payload = content[start:]
    if content[:start] != MAGIC + sha256(payload).digest():
        raise DamagedCheckpointError(f"the checkpoint {path.name} is damaged or incomplete")
    try:
        return unpack(payload)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError):
        raise DamagedCheckpointError(f"the checkpoint {path.name} is malformed") from None


def _existing(folder: Path) -> list[Path]:
    """Return all checkpoints, oldest first; links, pipes and folders are ignored."""
    if not folder.is_dir():
        return []
    paths = [p for p in folder.glob(f"*{ENDING}") if NUMBER.fullmatch(p.stem)]
    return sorted(
        (p for p in paths if p.is_file() and not p.is_symlink()), key=lambda path: int(path.stem)
    )
