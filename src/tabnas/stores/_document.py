"""The JSON documents of a store: a kind, a version, and a digest that tells damage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tabnas.errors import TabNASError
from tabnas.files import atomic_write, read_file, refuse_links

FORMAT = 1
KIND = "tabnas store"
MOST_BYTES = 1 << 30
MOST = 2**53
"""No count of ours is larger."""


def write_document(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Write a document whole or not at all."""
    refuse_links(folder, name)
    whole = {"kind": KIND, "format": FORMAT, **content}
    signed = whole | {"sha256": _digest(whole)}
    atomic_write(folder / name, json.dumps(signed, allow_nan=False, indent=1) + "\n")


def read_document(folder: Path, name: str, fields: Iterable[str]) -> dict[str, Any]:
    """The fields of a document, undamaged and all there."""
    data = read_file(folder, name, "store", max_size=MOST_BYTES)
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("kind") != KIND:
        raise TabNASError(f"{name} must be of the kind {KIND!r}, but it is not; encode again")
    version = said.get("format")
    if type(version) is not int or version > FORMAT:
        raise TabNASError(
            f"{name} must have format {FORMAT}, but it has {version!r}; a newer tabnas may "
            "have written it"
        )
    digest = said.pop("sha256", None)
    if digest != _digest(said) or said.keys() != {"kind", "format", *fields}:
        raise damaged(name)
    return said


def damaged(name: str) -> TabNASError:
    """The error of a file that is not what was written."""
    return TabNASError(
        f"{name} must be as it was written, but it was changed or damaged; encode the table "
        "again, to another folder"
    )


def counts(name: str, values: Any, length: int) -> list[int]:
    """So many whole numbers that can be counts."""
    fits = isinstance(values, list) and len(values) == length
    if not fits or not all(type(value) is int and 0 <= value <= MOST for value in values):
        raise damaged(name)
    return list(values)


def _digest(content: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"), sort_keys=True)
    except (ValueError, RecursionError):
        return ""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
