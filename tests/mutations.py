"""Random damage to bytes, documents and arrays, for tests of code that reads files."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    True, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, -(10**18), 0.0, -0.5, 1e308, 5e-324,
    float("inf"), float("nan"), "", "x", "linear", "64-64", "99999-99999", "../x", "/etc/passwd",
    "a\0b", [], [0], ["x", 1], [[]], {}, {"x": 1}, {"architecture": "9-9"},
)  # fmt: skip
"""Unexpected values of a field, all of which TOML can hold, too."""
BYTES = (b"\0" * 8, b"\xff" * 8, (10**10).to_bytes(8, "little"), b"[" * 2_000, b"9" * 5_000, b'"')


def mutate_bytes(rng: Random, content: bytes) -> bytes:
    """Return the content truncated, flipped, overwritten, extended or shortened at random."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        length = rng.randrange(1, 40)
        kind = rng.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at : at + length] = rng.randbytes(length)
        elif kind == 3:
            data[at:at] = rng.choice(BYTES)
        elif kind == 4:
            del data[at : at + length]
        else:
            data[at:at] = data[at : at + length]
    return bytes(data)


def mutate_values(rng: Random, document: Any, odd: tuple[Any, ...] = (*ODD, None)) -> Any:
    """Return the document with some value or entry replaced, removed, added or moved."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 3))):
        containers = _containers(changed)
        holder = rng.choice(containers)
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys or rng.random() < 0.1:
            if isinstance(holder, dict):
                holder[rng.choice(("x", "architecture", "step"))] = copy.deepcopy(rng.choice(odd))
            else:
                holder.append(copy.deepcopy(rng.choice(odd)))
            continue
        key = rng.choice(keys)
        if rng.random() < 0.15:
            del holder[key]
        elif rng.random() < 0.15:
            holder[key] = copy.deepcopy(rng.choice(containers))
        else:
            holder[key] = copy.deepcopy(rng.choice(odd))
    return changed


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(nested for one in value.values() for nested in _containers(one))]
    if isinstance(value, list):
        return [value, *(nested for one in value for nested in _containers(one))]
    return []


def mutate_arrays(rng: Random, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with other names, shapes, types or values, or some of them missing."""
    changed = dict(arrays)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not changed:
            break
        name = rng.choice(sorted(changed))
        array = np.array(changed[name])
        kind = rng.randrange(7)
        if kind == 0:
            del changed[name]
        elif kind == 1:
            changed[rng.choice(sorted(changed)) + rng.choice(("", "x", "/x"))] = array
        elif kind == 2:
            shape = rng.choice([(0,), (), (array.size,), (1, *array.shape), array.T.shape, (3, 2)])
            changed[name] = np.resize(array, shape)
        elif kind == 3:
            other = rng.choice(["u1", "i1", "i4", "i8", "u8", "f2", "f4", "f8", "?"])
            with np.errstate(all="ignore"):
                changed[name] = array.astype(other)
        elif kind == 4:
            huge = 2**64 - rng.choice((1, 5, 10**12, 2**62))
            changed[name] = np.full(array.shape, huge, np.uint64)
        elif array.size:
            extremes = [np.inf, -np.inf, np.nan, -1.0, 1e300, 1e-300, 0.0, 2.0**40]
            if array.dtype.kind in "iu":
                info = np.iinfo(array.dtype)
                extremes = [info.min, info.max, 0, min(7, info.max), info.max - 1]
            with np.errstate(all="ignore"):
                array.reshape(-1)[rng.randrange(array.size)] = rng.choice(extremes)
            changed[name] = array
    return changed
