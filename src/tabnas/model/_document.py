"""The JSON document of a model: one canonical form, a version and a digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

from tabnas.decoding import Bounds, DecodeError, decode, parse_json
from tabnas.errors import TabNASError
from tabnas.space import Precision

FORMAT = 2
KIND = "tabnas model"


@dataclass(frozen=True, kw_only=True)
class Header:
    """The fields that a document of any format has."""

    kind: Literal["tabnas model"]
    format: Annotated[int, Bounds(ge=1)]
    sha256: str  # of all other fields in canonical form


@dataclass(frozen=True, kw_only=True)
class WeightsEntry:
    """The digest of the weights file, and the shapes of its arrays."""

    sha256: str
    shapes: dict[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class ModelDocument(Header):
    """The content of `model.json`."""

    architecture: str
    dimensions: tuple[int, ...]  # of the embedding of each categorical column
    knots: tuple[tuple[float, ...], ...] = ()
    precision: Precision = Precision.FLOAT32
    encoder: dict[str, Any]
    limits: dict[str, int | float]
    target: dict[str, Any]
    weights: WeightsEntry


def digest(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal: it detects damage, not tampering."""
    return sha256(data).hexdigest()


def render_document(content: Mapping[str, Any]) -> bytes:
    """Return the fields with their checksum; the same content gives the same bytes."""
    payload = {"kind": KIND, "format": FORMAT, **content}
    try:
        document = payload | {"sha256": digest(_canonical(payload))}
        text = json.dumps(document, allow_nan=False, indent=1, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise TabNASError(
            f"a model can only be saved if it holds texts, numbers and booleans: {error}"
        ) from None
    return text.encode() + b"\n"


def parse_document(data: bytes, name: str) -> ModelDocument:
    """Decode a document and verify its digest; errors refer to it by `name`."""
    content = parse_json(data, source=name)
    header = decode(Header, content, source=name, ignore_unknown=True)
    if header.format > FORMAT:
        raise DecodeError(
            f"{name} must have at most format {FORMAT}, got {header.format}: it was written "
            "by a newer tabnas; update this one"
        )
    if header.sha256 != _compute_digest(content, name):
        raise DecodeError(
            f"{name} does not match its digest: it was changed or damaged; save the model again"
        )
    return decode(ModelDocument, content, source=name)


def _compute_digest(content: Mapping[str, Any], name: str) -> str:
    payload = {key: value for key, value in content.items() if key != "sha256"}
    try:
        return digest(_canonical(payload))
    except (ValueError, RecursionError) as error:  # a number beyond the floats, such as 1e999
        raise DecodeError(f"{name} cannot be read as JSON: {error}") from None


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()
