"""The JSON documents of a store: a kind, a version, and a digest that shows damage."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from tabnas.decoding import DecodeError, decode, parse_json, to_builtins
from tabnas.errors import TabNASError
from tabnas.files import atomic_write, read_file, refuse_links

T = TypeVar("T")

FORMAT = 2
KIND = "tabnas store"
MAX_BYTES = 1 << 30


def write_document(folder: Path, name: str, content: Any) -> None:
    """Write a dataclass as a document, completely or not at all."""
    refuse_links(folder, name)
    fields = {"kind": KIND, "format": FORMAT, **to_builtins(content)}
    signed = fields | {"sha256": _digest(fields)}
    atomic_write(folder / name, json.dumps(signed, allow_nan=False, indent=1) + "\n")


def read_document(folder: Path, name: str, kind: type[T]) -> T:
    """Read a document as a dataclass; raise an error if it is damaged or malformed."""
    data = read_file(folder, name, "store", max_size=MAX_BYTES)
    try:
        fields = parse_json(data, source=name)
    except DecodeError:
        fields = None
    if not isinstance(fields, dict) or fields.get("kind") != KIND:
        raise TabNASError(f"{name} must be of the kind {KIND!r}, but it is not; encode again")
    version = fields.get("format")
    if type(version) is not int or version != FORMAT:
        older = type(version) is int and version < FORMAT
        raise TabNASError(
            f"{name} must have format {FORMAT}, but it has {version!r}; "
            + ("encode the table again" if older else "a newer tabnas may have written it")
        )
    digest = fields.pop("sha256", None)
    if digest != _digest(fields):
        raise damaged_error(name)
    content = {key: value for key, value in fields.items() if key not in ("kind", "format")}
    return decode(kind, content, source=name)


def damaged_error(name: str) -> TabNASError:
    """Return the error of a file that is not what was written."""
    return TabNASError(
        f"{name} must be as it was written, but it was changed or damaged; encode the table "
        "again, to another folder"
    )


def _digest(content: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"), sort_keys=True)
    except (ValueError, RecursionError):
        return ""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
