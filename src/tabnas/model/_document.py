"""The JSON document of a model: one canonical form, a version and a digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tabnas.errors import TabNASError

FORMAT = 1
KIND = "tabnas model"
FIELDS = ("architecture", "dimensions", "encoder", "limits", "target", "weights")


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal: tells damage, not intent."""
    return sha256(data).hexdigest()


def render_document(content: Mapping[str, Any]) -> bytes:
    """The document of these fields, the same bytes for the same content."""
    whole = {"kind": KIND, "format": FORMAT, **content}
    try:
        signed = whole | {"sha256": digest(_canonical(whole))}
        text = json.dumps(signed, allow_nan=False, indent=1, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise TabNASError(
            "a model must be of texts, numbers and truth values to be saved, but it is not: "
            f"{error}"
        ) from None
    return text.encode() + b"\n"


def parse_document(data: bytes, name: str) -> dict[str, Any]:
    """The fields of a document, undamaged and all there; `name` is what errors call it."""
    document = _parsed(data, name)
    if document.get("kind") != KIND:
        raise TabNASError(f"{name} must be of the kind {KIND!r}, but it is not")
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise TabNASError(f"{name}: the format must be a version, got {version!r}")
    if version > FORMAT:
        raise TabNASError(
            f"{name} must have at most format {FORMAT}, but it has {version}: it was written "
            "by a newer tabnas; update this one"
        )
    wrong = sorted(document.keys() ^ {"kind", "format", "sha256", *FIELDS})
    if wrong:
        raise TabNASError(
            f"{name} must have the fields of format {FORMAT}, no more and no fewer, but "
            f"{', '.join(map(repr, wrong[:5]))} {'is' if len(wrong) == 1 else 'are'} missing or "
            "unknown"
        )
    said = document.pop("sha256")
    if said != digest(_canonical(document)):  # _parsed has been through it: it has such a form
        raise TabNASError(
            f"{name} must be as it was saved, but its digest says that it was changed or "
            "damaged; save the model again"
        )
    return {field: document[field] for field in FIELDS}


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()


def _parsed(data: bytes, name: str) -> dict[str, Any]:
    try:
        document = json.loads(data, object_pairs_hook=_unique, parse_constant=_refused)
        _canonical(document)  # refuses numbers beyond the floats, such as 1e999
    except RecursionError:
        raise TabNASError(f"{name} must be a model's JSON, but it is nested too deep") from None
    except ValueError as error:
        raise TabNASError(f"{name} must be a model's JSON, but it is not: {error}") from None
    if not isinstance(document, dict):
        raise TabNASError(f"{name} must be a JSON object, but it is another value")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise TabNASError("an object has the same key twice")
    return found


def _refused(constant: str) -> None:
    raise TabNASError(f"{constant} is no JSON number")
