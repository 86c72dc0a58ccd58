"""State dictionaries of arrays, and functions that check what is read from them.

A state may come from an untrusted file, and compiled code indexes with parts of
it. So `load_state_dict` methods read every array with these functions, which check type and shape.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tabnas.decoding import MAX_COUNT
from tabnas.errors import TabNASError
from tabnas.types import IntArray

State = Mapping[str, NDArray[Any]]
Arrays = dict[str, NDArray[Any]]
Shape = tuple[int | None, ...]
"""Sizes of the axes; None for any size."""


def subtree(state: State, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with `name/`, without this prefix.

    >>> subtree({"net/steps": np.array(3), "step": np.array(1)}, "net")
    {'steps': array(3)}
    """
    prefix = f"{name}/"
    return {k.removeprefix(prefix): array for k, array in state.items() if k.startswith(prefix)}


def check_keys(state: State, expected: Collection[str]) -> None:
    """Raise an error unless a state has exactly the expected names."""
    wrong = sorted(set(state) ^ set(expected))
    if wrong:
        raise TabNASError(
            "the state must hold exactly the expected arrays, but "
            f"{', '.join(map(repr, wrong[:5]))} {'is' if len(wrong) == 1 else 'are'} missing or "
            "unknown"
        )


def read_counts(
    state: State, name: str, shape: Shape = (), *, maximum: int = MAX_COUNT
) -> IntArray:
    """Return integers from 0 to `maximum`, as a copy.

    >>> read_counts({"n": np.array([1, 2**63], np.uint64)}, "n", (2,))
    Traceback (most recent call last):
        ...
    tabnas.errors.TabNASError: 'n' of the state must be numbers from 0 to 9007199254740992, \
got 9223372036854775808
    """
    array = _read_array(state, name, shape, np.integer)
    if array.size:
        for extreme in (int(array.min()), int(array.max())):
            if not 0 <= extreme <= maximum:
                raise TabNASError(
                    f"{name!r} of the state must be numbers from 0 to {maximum}, got {extreme}"
                )
    return np.array(array, np.int64)


def read_floats(
    state: State,
    name: str,
    shape: Shape = (),
    *,
    finite: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> NDArray[Any]:
    """Return floats of exactly this type, as a copy; with `finite` they must be finite."""
    array = np.array(_read_array(state, name, shape, dtype))
    if finite and not np.isfinite(array).all():
        wrong = array[~np.isfinite(array)].flat[0]
        raise TabNASError(f"{name!r} of the state must be finite, got {wrong}")
    return array


def _read_array(state: State, name: str, shape: Shape, dtype: type[Any]) -> NDArray[Any]:
    if name not in state:
        raise TabNASError(f"the state must hold {name!r}, but it does not")
    array = np.asarray(state[name])
    fits = array.ndim == len(shape) and all(
        size in (None, actual) for size, actual in zip(shape, array.shape, strict=True)
    )
    if not fits or not np.issubdtype(array.dtype, dtype):
        expected = ", ".join("any" if size is None else str(size) for size in shape)
        raise TabNASError(
            f"{name!r} of the state must be {dtype.__name__} of the shape ({expected}), got "
            f"{array.dtype} {array.shape}"
        )
    return array


def pack(values: Mapping[str, Any], arrays: State) -> bytes:
    """Return JSON values and arrays as one bytes object, for files and messages."""
    tensors = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return bytes(save_tensors(tensors, metadata={"facts": json.dumps(values)}))


def unpack(payload: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the JSON values and the arrays of `pack`."""
    arrays = load_tensors(payload)
    header = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
    values = json.loads(header["__metadata__"]["facts"])
    if not isinstance(values, dict):
        raise ValueError(f"the metadata must be a JSON object, got {type(values).__name__}")
    return values, arrays
