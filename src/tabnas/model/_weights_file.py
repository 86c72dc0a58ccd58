"""Weights as a safetensors file, in their precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tabnas.decoding import DecodeError, decode, parse_json
from tabnas.errors import TabNASError
from tabnas.model._rounding import EMBEDDING, Int8Array, quantize_weights
from tabnas.model._weights import Shapes, check_names
from tabnas.nets import NUMERIC_EMBEDDING
from tabnas.space import Precision
from tabnas.types import Float32Array

Array = NDArray[Any]

LENGTH_BYTES = 8  # at the beginning of a file, which hold the length of its header
MAX_HEADER = 16 << 20  # bytes; an array takes some 100
ITEM_SIZES = {"F32": 4, "F16": 2, "I8": 1}
SCALE = " scale"
EMBEDDING_SCALE = "embedding scale"
"""The array with the scale that all embeddings of categories share."""


@dataclass(frozen=True)
class StoredArray:
    """The type and shape of an array in a file."""

    dtype: Literal["F32", "F16", "I8"]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The bytes of the array."""
        return ITEM_SIZES[self.dtype] * prod(self.shape)


@dataclass(frozen=True)
class TensorEntry(StoredArray):
    """An array in the header of a safetensors file."""

    data_offsets: tuple[int, int]


def stored_arrays(shapes: Shapes, precision: Precision) -> dict[str, StoredArray]:
    """Return the arrays that a file with weights of these shapes holds."""
    match precision:
        case Precision.FLOAT32:
            return {name: StoredArray("F32", shape) for name, shape in shapes.items()}
        case Precision.FLOAT16:
            return {name: StoredArray("F16", shape) for name, shape in shapes.items()}
        case Precision.INT8:
            arrays = {}
            for name, shape in shapes.items():
                is_matrix = len(shape) == 2
                arrays[name] = StoredArray("I8" if is_matrix else "F32", shape)
                if name.startswith(EMBEDDING):
                    arrays[EMBEDDING_SCALE] = StoredArray("F32", (1,))
                elif is_matrix:
                    scales = shape[0 if name == NUMERIC_EMBEDDING else 1]
                    arrays[name + SCALE] = StoredArray("F32", (scales,))
            return arrays


def to_arrays(weights: Mapping[str, Float32Array], precision: Precision) -> dict[str, Array]:
    """Return the arrays of a file that holds these weights, which must be rounded already."""
    if precision == Precision.FLOAT32:
        return dict(weights)
    if precision == Precision.FLOAT16:
        return {name: array.astype(np.float16) for name, array in weights.items()}
    arrays: dict[str, Array] = {}
    for name, weight in quantize_weights(weights).items():
        if isinstance(weight, Int8Array):
            arrays[name] = weight.values
            scale_name = EMBEDDING_SCALE if name.startswith(EMBEDDING) else name + SCALE
            arrays[scale_name] = weight.scale.reshape(-1)
        else:
            arrays[name] = weight
    return arrays


def from_arrays(arrays: Mapping[str, Array]) -> dict[str, Float32Array]:
    """Return the weights that a file holds, as float32."""
    weights = {}
    for name, array in arrays.items():
        if array.dtype == np.int8:
            scale_name = EMBEDDING_SCALE if name.startswith(EMBEDDING) else name + SCALE
            scale = arrays[scale_name]
            scale = scale[:, None] if name == NUMERIC_EMBEDDING else scale
            weights[name] = Int8Array(values=array, scale=scale).dequantized
        elif not name.endswith(SCALE):
            weights[name] = array.astype(np.float32)
    return weights


def pack_weights(arrays: Mapping[str, Array]) -> bytes:
    """Return the bytes of the file, the same for the same arrays."""
    data: bytes = save(dict(arrays))
    return data


def unpack_weights(data: bytes, expected: Mapping[str, StoredArray], name: str) -> dict[str, Array]:
    """Return the arrays of a file, whose header is checked before any array is created."""
    _check_header(data, expected, name)
    try:
        arrays: dict[str, Array] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise TabNASError(f"{name} cannot be read as a safetensors file: {error}") from None
    return arrays


def _check_header(data: bytes, expected: Mapping[str, StoredArray], name: str) -> None:
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if not 2 <= length <= min(MAX_HEADER, len(data)) - LENGTH_BYTES:
        raise DecodeError(
            f"{name} must have a header within its {len(data):,} bytes, but it claims {length:,}"
        )
    source = f"the header of {name}"
    content = parse_json(data[LENGTH_BYTES : LENGTH_BYTES + length], source=source)
    header = decode(dict[str, Any], content, source=source)
    header.pop("__metadata__", None)
    check_names(header, expected, name)
    entries = decode(dict[str, TensorEntry], header, source=source)
    for array, stored in expected.items():
        entry = entries[array]
        if (entry.dtype, entry.shape) != (stored.dtype, stored.shape):
            raise DecodeError(
                f"{source}: {array} must be {stored.dtype} of the shape {stored.shape}, "
                f"got {entry.dtype} {entry.shape}"
            )
    _check_offsets(list(entries.values()), len(data) - LENGTH_BYTES - length, source)


def _check_offsets(entries: list[TensorEntry], size: int, source: str) -> None:
    """Check that the arrays lie side by side and fill the file."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.data_offsets):
        if entry.data_offsets != (end, end + entry.size):
            break
        end = entry.data_offsets[1]
    else:
        if end == size:
            return
    raise DecodeError(
        f"{source}: data_offsets must be those of arrays that lie side by side and fill the file"
    )
