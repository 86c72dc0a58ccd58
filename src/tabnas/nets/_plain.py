"""The forward pass in plain NumPy, formula by formula: the reference for all engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.nets._shape import NORM_EPSILON
from tabnas.types import FloatArray


@dataclass(frozen=True, eq=False)
class PlainLayer:
    """What a hidden layer computed for each row, in float64."""

    inputs: FloatArray  # [rows, fan in]
    normed: FloatArray  # [rows, width]: its pre-activations, normalised
    deviation: FloatArray  # [rows, 1]: the standard deviations they were divided by


def plain_forward(
    weights: Mapping[str, FloatArray], numeric: NDArray[Any], categorical: NDArray[Any], depth: int
) -> tuple[FloatArray, list[PlainLayer], FloatArray]:
    """Return the outputs [rows, outputs], the values of every layer, and the inputs of the head.

    `weights` are those of one network, by name, in float64.
    """
    embedded = [weights[f"embedding.{c}"][codes] for c, codes in enumerate(categorical.T)]
    x = np.concatenate([np.asarray(numeric, np.float64), *embedded], axis=1)
    layers = []
    for layer in range(1, depth + 1):
        weight, bias, scale, shift = (
            weights[f"layer.{layer}.{part}"] for part in ("weight", "bias", "scale", "shift")
        )
        sums = x @ weight + bias
        deviation = np.sqrt(sums.var(axis=1, keepdims=True) + NORM_EPSILON)
        normed = (sums - sums.mean(axis=1, keepdims=True)) / deviation
        layers.append(PlainLayer(x, normed, deviation))
        x = np.maximum(0, normed * scale + shift)
    return x @ weights[f"head.{depth}.weight"] + weights[f"head.{depth}.bias"], layers, x
