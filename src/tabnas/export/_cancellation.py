"""How much of its digits a network loses to normalisation, row by row."""

from __future__ import annotations

import numpy as np

from tabnas.data import Encoded
from tabnas.model import Model
from tabnas.nets import plain_forward
from tabnas.types import FloatArray


def cancellation(model: Model, rows: Encoded) -> FloatArray:
    """The largest terms of a layer's sums, over the deviation that they are normalised by, [rows].

    About 5 as a rule. Where the units of a layer are as good as equal, which happens to layers of
    two or three, it is in the hundreds, and so much larger is what rounding makes of the output.
    The worst layer counts.
    """
    weights = {name: np.asarray(array, np.float64) for name, array in model.weights.items()}
    depth = model.architecture.depth
    _, layers, _ = plain_forward(weights, rows.numeric, rows.categorical, depth)
    worst = np.zeros(len(rows))
    for number, layer in enumerate(layers, start=1):
        weight, bias = weights[f"layer.{number}.weight"], weights[f"layer.{number}.bias"]
        terms = np.abs(layer.inputs) @ np.abs(weight) + np.abs(bias)
        worst = np.maximum(worst, terms.max(axis=1) / layer.deviation[:, 0])
    return worst
