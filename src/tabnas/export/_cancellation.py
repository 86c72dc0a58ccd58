"""How much of its digits a network loses to normalisation, row by row."""

from __future__ import annotations

import numpy as np

from tabnas.data import Encoded
from tabnas.model import Model
from tabnas.nets import plain_forward
from tabnas.types import FloatArray


def cancellation(model: Model, rows: Encoded) -> FloatArray:
    """Return how large a layer's sums become, over the deviation they are normalised by, [rows].

    How large is the greater of a sum itself and of its terms' root sum of squares. Rounding errors
    of many terms have random signs and grow as the latter does, not as the sum of absolute values:
    that would allow ever more in tables of ever more columns.

    About 2 as a rule, for any number of columns. Where the units of a layer are as good as equal,
    which happens to layers of two or three, it is in the hundreds, and so much larger is what
    rounding makes of the output. The worst layer counts.
    """
    weights = {name: np.asarray(array, np.float64) for name, array in model.weights.items()}
    depth = model.architecture.depth
    _, layers, _ = plain_forward(weights, rows.numeric, rows.categorical, depth)
    worst = np.zeros(len(rows))
    for number, layer in enumerate(layers, start=1):
        weight, bias = weights[f"layer.{number}.weight"], weights[f"layer.{number}.bias"]
        sums = np.abs(layer.inputs @ weight + bias)
        terms = np.sqrt(np.square(layer.inputs) @ np.square(weight) + np.square(bias))
        worst = np.maximum(worst, np.maximum(sums, terms).max(axis=1) / layer.deviation[:, 0])
    return worst
