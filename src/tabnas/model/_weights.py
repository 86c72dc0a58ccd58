"""Weights as the bytes of a safetensors file, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load, save

from tabnas.errors import TabNASError
from tabnas.model._shapes import Shapes
from tabnas.model._task import Float32Array

LENGTH_BYTES = 8  # of the header's length, which a file begins with
MAX_HEADER = 16 << 20  # bytes; some 100 an array


def pack_weights(weights: Mapping[str, Float32Array]) -> bytes:
    """The bytes of the file, the same for the same weights."""
    data: bytes = save(dict(weights))
    return data


def unpack_weights(data: bytes, shapes: Shapes, name: str) -> dict[str, Float32Array]:
    """Exactly the arrays of these shapes; the header is checked before anything is made of it."""
    _check_header(data, shapes, name)
    try:
        weights: dict[str, Float32Array] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise TabNASError(f"{name} must be a safetensors file, but: {error}") from None
    return weights


def _check_header(data: bytes, shapes: Shapes, name: str) -> None:
    header, room = _header(data, name)
    header.pop("__metadata__", None)
    wrong = sorted(header.keys() ^ shapes.keys())
    if wrong:
        raise TabNASError(
            f"{name} must hold the arrays of the architecture, no more and no fewer, but "
            f"{', '.join(wrong[:5])} {'is' if len(wrong) == 1 else 'are'} missing or unknown"
        )
    spans = []
    for array, shape in shapes.items():
        entry = header[array]
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise TabNASError(f"{name}: the entry of {array} is malformed")
        if entry["dtype"] != "F32" or entry["shape"] != list(shape):
            raise TabNASError(
                f"{name}: {array} must be F32 {list(shape)}, "
                f"but it is {entry['dtype']} {entry['shape']}"
            )
        spans.append((entry["data_offsets"], 4 * prod(shape)))
    _check_spans(spans, room, name)


def _header(data: bytes, name: str) -> tuple[dict[str, Any], int]:
    """The header, and how many bytes there are after it."""
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if not 2 <= length <= min(MAX_HEADER, len(data)) - LENGTH_BYTES:
        raise TabNASError(
            f"{name} must have a header within its {len(data):,} bytes, but it claims {length:,}"
        )
    try:
        header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise TabNASError(f"{name} must have a JSON object as its header, but it has not")
    return header, len(data) - LENGTH_BYTES - length


def _check_spans(spans: list[tuple[Any, int]], room: int, name: str) -> None:
    """The arrays must lie side by side and fill the file."""
    at = 0
    try:
        for (begin, end), size in sorted(spans):
            if (begin, end) != (at, at + size):
                raise ValueError
            at = end
        if at != room:
            raise ValueError
    except (TypeError, ValueError):
        raise TabNASError(
            f"{name}: the offsets must be those of arrays side by side up to the end of the "
            "file, but they are not"
        ) from None
