"""Checkpoints: files that appear whole, are checked when read, and hold plain data only."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tabnas.errors import TabNASError
from tabnas.files import refuse_links

MAGIC = b"tabnas checkpoint 1\n"
DIGEST = 32
ENDING = ".checkpoint"
NUMBER = re.compile("[0-9]{6,15}")
KEPT = 2  # the newest, and the one before in case it is damaged

Arrays = dict[str, NDArray[Any]]


class DamagedCheckpointError(TabNASError):
    """A checkpoint that is not what was written."""


def write_checkpoint(folder: Path, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write the next checkpoint: aside, synced, renamed; older ones go once it is there."""
    refuse_links(folder.parent, folder.name)
    folder.mkdir(parents=True, exist_ok=True)
    written = _existing(folder)
    number = 1 + (int(written[-1].stem) if written else 0)
    payload = packed(facts, arrays)
    final = folder / f"{number:06d}{ENDING}"
    aside = folder / f".{final.name}.{uuid4().hex[:8]}"
    try:
        with aside.open("wb") as file:
            file.write(MAGIC + sha256(payload).digest())
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, final)
        _sync_folder(folder)
    finally:
        aside.unlink(missing_ok=True)
    left_by_the_killed = folder.glob(f".*{ENDING}.*")
    for old in (*_existing(folder)[:-KEPT], *left_by_the_killed):
        old.unlink(missing_ok=True)


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], Arrays, str] | None:
    """The newest checkpoint that is whole, and a note if a newer one is not; None if there is none.

    Facts are plain JSON, arrays plain numbers: reading runs no code, and takes no more memory than
    the file is long. The digest tells damage, not intent: what is read must be checked by its user.
    """
    refuse_links(folder.parent, folder.name)
    note = ""
    for path in reversed(_existing(folder)):
        try:
            return *_read(path), note
        except DamagedCheckpointError as error:
            note = f"{error}; going on from the one before"
    if note:
        raise TabNASError(
            f"every checkpoint in {str(folder)!r} is damaged; make the run again from its start"
        )
    return None


def has_checkpoint(folder: Path) -> bool:
    """Whether a checkpoint was ever written whole to this folder."""
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
        return unpacked(payload)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError):
        raise DamagedCheckpointError(f"the checkpoint {path.name} is malformed") from None


def packed(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Facts and arrays in one piece, fit for files and messages."""
    tensors = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return bytes(save_tensors(tensors, metadata={"facts": json.dumps(facts)}))


def unpacked(payload: bytes) -> tuple[dict[str, Any], Arrays]:
    """The inverse of `packed`."""
    arrays = load_tensors(payload)
    header = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
    facts = json.loads(header["__metadata__"]["facts"])
    if not isinstance(facts, dict):
        raise ValueError("the facts must have names")
    return facts, arrays


def _existing(folder: Path) -> list[Path]:
    """All checkpoints, oldest first; links, pipes and folders are none of ours."""
    if not folder.is_dir():
        return []
    found = [p for p in folder.glob(f"*{ENDING}") if NUMBER.fullmatch(p.stem)]
    return sorted(
        (p for p in found if p.is_file() and not p.is_symlink()), key=lambda path: int(path.stem)
    )


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
