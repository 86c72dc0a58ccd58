"""The forward pass in plain NumPy, formula by formula: the reference for all engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.nets._network_spec import Inputs
from tabnas.nets._shape import NORM_EPSILON, NUMERIC_EMBEDDING
from tabnas.types import FloatArray


@dataclass(frozen=True, eq=False)
class PlainLayer:
    """What a hidden layer computed for each row, in float64."""

    inputs: FloatArray  # [rows, fan in]
    normed: FloatArray  # [rows, width]: its pre-activations, normalised
    deviation: FloatArray  # [rows, 1]: the standard deviations they were divided by


def read_between_knots(inputs: Inputs, numeric: NDArray[Any]) -> FloatArray:
    """Return how much each value reads of each knot: [rows, embedded columns, knots of all].

    The two knots next to a value share a weight of 1; a value beyond the last reads that alone.
    """
    columns = inputs.embedded_numeric
    ends = np.cumsum([len(knots) for knots in inputs.knots if knots])
    shares = np.zeros((len(numeric), len(columns), int(ends[-1]) if len(ends) else 0))
    for i, (column, end) in enumerate(zip(columns, ends, strict=True)):
        knots = np.array(inputs.knots[column])
        values = np.clip(np.asarray(numeric[:, column], np.float64), knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, len(knots) - 2)
        fraction = (values - knots[left]) / (knots[left + 1] - knots[left])
        rows, first = np.arange(len(numeric)), end - len(knots)
        shares[rows, i, first + left] = 1.0 - fraction
        shares[rows, i, first + left + 1] = fraction
    return shares


def plain_inputs(
    weights: Mapping[str, FloatArray],
    inputs: Inputs,
    numeric: NDArray[Any],
    categorical: NDArray[Any],
) -> FloatArray:
    """Return the inputs of the first layer, [rows, inputs], all embeddings included."""
    parts = [np.asarray(numeric, np.float64)]
    parts += [weights[f"embedding.{c}"][codes] for c, codes in enumerate(categorical.T)]
    if NUMERIC_EMBEDDING in weights:
        parts += _embed_numbers(weights[NUMERIC_EMBEDDING], inputs, numeric)
    return np.concatenate(parts, axis=1)


def _embed_numbers(
    table: FloatArray, inputs: Inputs, numeric: NDArray[Any]
) -> Iterator[FloatArray]:
    """Yield each dimension of the numeric embeddings, [rows, embedded columns]."""
    ends = np.cumsum([len(inputs.knots[column]) for column in inputs.embedded_numeric])
    for dimension in table:
        columns = zip(inputs.embedded_numeric, np.split(dimension, ends[:-1]), strict=True)
        yield np.stack(
            [np.interp(numeric[:, c], inputs.knots[c], values) for c, values in columns], axis=1
        )


def plain_forward(
    weights: Mapping[str, FloatArray],
    inputs: Inputs,
    numeric: NDArray[Any],
    categorical: NDArray[Any],
    depth: int,
) -> tuple[FloatArray, list[PlainLayer], FloatArray]:
    """Return the outputs [rows, outputs], the values of every layer, and the inputs of the head.

    `weights` are those of one network, by name, in float64.
    """
    x = plain_inputs(weights, inputs, numeric, categorical)
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
