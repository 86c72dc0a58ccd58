"""How much of its digits a network loses to normalisation, row by row."""

from __future__ import annotations

import numpy as np

from tabnas.data import Encoded
from tabnas.model import Model
from tabnas.nets import NORM_EPSILON
from tabnas.types import FloatArray


def cancellation(model: Model, rows: Encoded) -> FloatArray:
    """The largest terms of a layer's sums, over the deviation that they are normalised by, [rows].

    About 5 as a rule. Where the units of a layer are as good as equal, which happens to layers of
    two or three, it is in the hundreds, and so much larger is what rounding makes of the output.
    The worst layer counts; everything is computed in float64.
    """
    weights = {name: np.asarray(array, np.float64) for name, array in model.weights.items()}
    codes = rows.categorical.T
    embedded = [weights[f"embedding.{c}"][column] for c, column in enumerate(codes)]
    x = np.concatenate([rows.numeric.astype(np.float64), *embedded], axis=1)
    worst = np.zeros(len(x))
    for layer in range(1, model.architecture.depth + 1):
        weight, bias, scale, shift = (
            weights[f"layer.{layer}.{part}"] for part in ("weight", "bias", "scale", "shift")
        )
        z = x @ weight + bias
        deviation = np.sqrt(z.var(axis=1) + NORM_EPSILON)
        terms = np.abs(x) @ np.abs(weight) + np.abs(bias)
        worst = np.maximum(worst, terms.max(axis=1) / deviation)
        normed = (z - z.mean(axis=1, keepdims=True)) / deviation[:, None]
        x = np.maximum(0.0, normed * scale + shift)
    return worst
