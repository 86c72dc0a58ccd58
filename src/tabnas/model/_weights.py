"""The weights of a network: their names and shapes, and their safetensors file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tabnas.decoding import DecodeError, decode, parse_json
from tabnas.errors import TabNASError
from tabnas.model._task import Float32Array
from tabnas.nets import NUMERIC_EMBEDDING, Task
from tabnas.space import Architecture

Shapes = dict[str, tuple[int, ...]]

LENGTH_BYTES = 8  # at the beginning of a file, which hold the length of its header
MAX_HEADER = 16 << 20  # bytes; an array takes some 100


def weight_shapes(task: Task, architecture: Architecture) -> Shapes:
    """Return the name and shape of every array of a stand-alone network without building it.

    This is the format of the weights on disk; a test compares it with real networks.

    >>> from tabnas.nets import Inputs
    >>> weight_shapes(Task(inputs=Inputs(numeric=3), loss="logistic"), Architecture(()))
    {'head.0.weight': (3, 1), 'head.0.bias': (1,)}
    """
    shapes: Shapes = {
        f"embedding.{column}": (embedding.categories, embedding.dimension)
        for column, embedding in enumerate(task.inputs.embeddings)
    }
    fan_in = task.inputs.width
    if architecture.dimension:
        embeddings = task.inputs.numeric_embeddings([architecture.dimension])
        if embeddings is None:
            raise TabNASError(
                f"the architecture {architecture} embeds numbers, but no feature has knots"
            )
        shapes[NUMERIC_EMBEDDING] = (architecture.dimension, embeddings.knots)
        fan_in += architecture.dimension * embeddings.columns
    for layer, width in enumerate(architecture, start=1):
        shapes[f"layer.{layer}.weight"] = (fan_in, width)
        for vector in ("bias", "scale", "shift"):
            shapes[f"layer.{layer}.{vector}"] = (width,)
        fan_in = width
    head = f"head.{architecture.depth}"
    return shapes | {f"{head}.weight": (fan_in, task.outputs), f"{head}.bias": (task.outputs,)}


def check_weights(weights: Mapping[str, Any], shapes: Shapes) -> dict[str, Float32Array]:
    """Return read-only float32 copies of the arrays in the order of `shapes`.

    Raise an error unless exactly these arrays are there and all numbers are finite.
    """
    _check_names(weights, shapes, "the weights")
    copies = {}
    for name, shape in shapes.items():
        array = np.asarray(weights[name])
        if array.shape != shape or array.dtype.kind != "f":
            raise TabNASError(
                f"the weights {name} must be floats of the shape {shape}, "
                f"got {array.dtype} {array.shape}"
            )
        with np.errstate(over="ignore"):
            copies[name] = copy = np.array(array, np.float32, order="C")
        if not np.isfinite(copy).all():
            raise TabNASError(
                f"the weights {name} must be finite float32 numbers, but some are not"
            )
        copy.flags.writeable = False
    return copies


def _check_names(arrays: Mapping[str, Any], shapes: Shapes, source: str) -> None:
    wrong = sorted(map(str, set(arrays) ^ set(shapes)))
    if wrong:
        raise TabNASError(
            f"{source} must hold exactly the arrays of the architecture, but "
            f"{', '.join(wrong[:5])} {'is' if len(wrong) == 1 else 'are'} missing or unknown"
        )


# -- the file ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorEntry:
    """An array in the header of a safetensors file."""

    dtype: Literal["F32"]
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def pack_weights(weights: Mapping[str, Float32Array]) -> bytes:
    """Return the bytes of the file, the same for the same weights."""
    data: bytes = save(dict(weights))
    return data


def unpack_weights(data: bytes, shapes: Shapes, name: str) -> dict[str, Float32Array]:
    """Return the arrays of a file, whose header is checked before any array is created."""
    _check_header(data, shapes, name)
    try:
        weights: dict[str, Float32Array] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise TabNASError(f"{name} cannot be read as a safetensors file: {error}") from None
    return weights


def _check_header(data: bytes, shapes: Shapes, name: str) -> None:
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if not 2 <= length <= min(MAX_HEADER, len(data)) - LENGTH_BYTES:
        raise DecodeError(
            f"{name} must have a header within its {len(data):,} bytes, but it claims {length:,}"
        )
    source = f"the header of {name}"
    content = parse_json(data[LENGTH_BYTES : LENGTH_BYTES + length], source=source)
    header = decode(dict[str, Any], content, source=source)
    header.pop("__metadata__", None)
    _check_names(header, shapes, name)
    entries = decode(dict[str, TensorEntry], header, source=source)
    for array, shape in shapes.items():
        if entries[array].shape != shape:
            raise DecodeError(
                f"{source}: the shape of {array} must be {shape}, got {entries[array].shape}"
            )
    _check_offsets(list(entries.values()), len(data) - LENGTH_BYTES - length, source)


def _check_offsets(entries: list[TensorEntry], size: int, source: str) -> None:
    """Check that the arrays lie side by side and fill the file."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.data_offsets):
        if entry.data_offsets != (end, end + 4 * prod(entry.shape)):
            break
        end = entry.data_offsets[1]
    else:
        if end == size:
            return
    raise DecodeError(
        f"{source}: data_offsets must be those of arrays that lie side by side and fill the file"
    )
