"""Checks of the arrays that a caller passes, with errors that name the problem and its place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabNASError


def check_array(
    name: str, values: ArrayLike, shape: tuple[int, ...], dtype: type[np.generic]
) -> NDArray[Any]:
    """Return `values` as an array of that shape and type that the kernels can read in place."""
    array = np.asarray(values)
    if array.shape != shape:
        raise TabNASError(f"{name} must have the shape {shape}, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TabNASError(f"{name} must be numbers, got {array.dtype}")
    if dtype is np.int32 and array.dtype.kind == "f" and not np.array_equal(array, np.rint(array)):
        raise TabNASError(f"{name} must be integers, got fractions")
    if dtype is np.int32:
        check_range(name, array, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    array = np.require(array, dtype, ["C", "A", "W"])
    # NumPy calls one row of a strided array contiguous whatever its strides are; kernels use them
    contiguous = np.empty(shape, dtype).strides
    return array if array.strides == contiguous else array.copy()


def check_range(name: str, array: NDArray[Any], minimum: float, maximum: float) -> None:
    """Raise an error that names the first value outside [minimum, maximum]; NaN is outside."""
    if not array.size or (array.min() >= minimum and array.max() <= maximum):
        return
    where = tuple(int(i) for i in np.argwhere(~((array >= minimum) & (array <= maximum)))[0])
    raise TabNASError(
        f"{name} must lie between {minimum} and {maximum}, "
        f"got {array[where]} at {where if len(where) > 1 else where[0]}"
    )
