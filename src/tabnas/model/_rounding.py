"""Weights in a lower precision: rounded to 16 bits, or to 8 bits with scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.nets import NUMERIC_EMBEDDING
from tabnas.space import Precision
from tabnas.types import Float32Array

MAX_INT8 = 127
SCALE_BITS = 17
"""Significant bits of a scale. Its product with a value of 7 bits has 24 bits, so it is exact in
float32: every runtime computes with the same weights, and rounding them again changes nothing."""
MIN_SCALE, MAX_SCALE = 2.0**-100, 2.0**121  # so that the products are normal numbers
EMBEDDING = "embedding."


@dataclass(frozen=True, eq=False, kw_only=True)
class Int8Array:
    """Quantized weights `values * scale`, with one scale for each column, each row, or all."""

    values: NDArray[np.int8]
    scale: Float32Array  # [columns], [rows, 1] or []

    @property
    def dequantized(self) -> Float32Array:
        """The float32 weights, which are exact."""
        return np.asarray(self.values.astype(np.float32) * self.scale, np.float32)


Weight = Float32Array | NDArray[np.float16] | Int8Array
"""The weights of an array as a file stores them."""


def round_weights(
    weights: Mapping[str, Float32Array], precision: Precision
) -> dict[str, Float32Array]:
    """Return the weights that a file of this precision holds, as float32.

    >>> rounded = round_weights({"head.0.weight": np.float32([[0.3], [1.0]])}, Precision.INT8)
    >>> [f"{weight:.4f}" for weight in rounded["head.0.weight"][:, 0]]
    ['0.2992', '1.0000']
    """
    match precision:
        case Precision.FLOAT32:
            return dict(weights)
        case Precision.FLOAT16:
            return {name: _round_to_float16(array) for name, array in weights.items()}
        case Precision.INT8:
            return dequantize(quantize_weights(weights))


def round_network(
    weights: Mapping[str, Float32Array], precision: Precision
) -> dict[str, Float32Array]:
    """Return the rounded weights of a trained network.

    They are centered first, because an export cannot center rounded weights without changing them.
    """
    is_rounded = precision != Precision.FLOAT32
    return round_weights(center_weights(weights) if is_rounded else weights, precision)


def quantize_weights(weights: Mapping[str, Float32Array]) -> dict[str, Weight]:
    """Quantize matrices with one scale for each output unit, and embeddings with one for all.

    Numeric embeddings have one scale per dimension. Vectors stay float32. Weights that were
    quantized before stay the same.
    """
    tables = [array for name, array in weights.items() if name.startswith(EMBEDDING)]
    largest_embedding = max((np.abs(table).max(initial=0) for table in tables), default=0)

    def quantize(name: str, array: Float32Array) -> Weight:
        if array.ndim != 2:
            return array
        if name.startswith(EMBEDDING):
            return _quantize(array, np.asarray(largest_embedding))
        if name == NUMERIC_EMBEDDING:
            return _quantize(array, np.abs(array).max(axis=1, keepdims=True))
        return _quantize(array, np.abs(array).max(axis=0))

    return {name: quantize(name, array) for name, array in weights.items()}


def dequantize(weights: Mapping[str, Weight]) -> dict[str, Float32Array]:
    """Return the float32 values of quantized weights."""
    return {
        name: w.dequantized if isinstance(w, Int8Array) else w.astype(np.float32)
        for name, w in weights.items()
    }


def center_weights(weights: Mapping[str, Float32Array]) -> dict[str, Float32Array]:
    """Return weights of an equivalent network whose hidden units have mean 0 in each row.

    LayerNorm subtracts the mean anyway. It is subtracted from the weights beforehand because some
    runtimes compute the variance as E[z²] - E[z]², which cancels if the mean is large.
    """
    return {
        name: np.asarray(array - array.mean(axis=-1, keepdims=True, dtype=np.float64), np.float32)
        if name.startswith("layer.") and name.endswith(("weight", "bias"))
        else array
        for name, array in weights.items()
    }


def _quantize(array: Float32Array, largest: NDArray[np.float32]) -> Int8Array:
    bounded = np.clip(largest.astype(np.float64) / MAX_INT8, MIN_SCALE, MAX_SCALE)
    mantissa, exponent = np.frexp(bounded)
    # rounded up, so that the largest value is 127
    scale = np.ldexp(np.ceil(np.ldexp(mantissa, SCALE_BITS)), exponent - SCALE_BITS)
    values = np.clip(np.rint(array / scale), -MAX_INT8, MAX_INT8).astype(np.int8)
    return Int8Array(values=values, scale=np.asarray(scale, np.float32))


def _round_to_float16(array: Float32Array) -> Float32Array:
    largest = float(np.finfo(np.float16).max)
    return np.clip(array, -largest, largest).astype(np.float16).astype(np.float32)
