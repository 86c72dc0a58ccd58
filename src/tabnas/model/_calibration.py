"""Calibrated probabilities: one temperature, fitted on held-out rows.

Networks are too confident (Guo et al. 2017, "On calibration of modern neural networks"). Dividing
all logits by one number changes no label and no ranking of classes, and corrects most of it. The
number is multiplied into the output layer, so a calibrated network needs no further parameter and
no extra step at prediction or export.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tabnas.model._model import probabilities
from tabnas.types import Float32Array, FloatArray

MAX_TEMPERATURE = 20.0
"""Temperatures lie between this and its inverse."""
LOG_TEMPERATURE_STD = 1.0
"""Standard deviation of the prior of ln T; keeps a few perfect rows from T = 0."""
PSEUDO_ROWS = 0.5
"""Rows with uniform labels that are added to the data, as in Jeffreys' prior: even if all held-out
rows are right, others may not be (results/small_tables.md)."""


def fit_temperature(
    raw: Float32Array, y_true: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the temperature T for which logits / T [rows, outputs] fit the class numbers best.

    Minimizes the log loss summed over all rows, smoothed by half a row of uniform labels, plus
    (ln T / LOG_TEMPERATURE_STD)² / 2: the maximum a posteriori of T under a log-normal prior around
    1. Weights are relative to their mean.

    >>> confident = np.array([[9.0], [9.0], [9.0], [-9.0]], np.float32)
    >>> fit_temperature(confident, [1, 1, 0, 0]) > 3
    True
    """
    from scipy.optimize import minimize_scalar  # slow to import, and prediction does not need it

    labels = np.asarray(y_true, np.int64)
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
    rows = weight > 0
    if not rows.any():
        return 1.0
    logits, labels = np.asarray(raw, np.float64)[rows], labels[rows]
    relative = weight[rows] / weight[rows].mean()

    def objective(log_temperature: float) -> float:
        losses = smoothed_log_loss(probabilities(logits / np.exp(log_temperature)), labels)
        penalty = (log_temperature / LOG_TEMPERATURE_STD) ** 2 / 2
        return float((relative * losses).sum() + penalty)

    bound = np.log(MAX_TEMPERATURE)
    best = minimize_scalar(objective, bounds=(-bound, bound), method="bounded")
    return float(np.exp(best.x))


def smoothed_log_loss(y_pred: FloatArray, y_true: ArrayLike) -> FloatArray:
    """Return the log loss of each row [rows], plus its share of half a row of uniform labels.

    Takes probabilities [rows, classes] and class numbers [rows].

    >>> smoothed_log_loss(np.array([[0.5, 0.5]]), [0]).round(3).tolist()  # 1.5 ln 2
    [1.04]
    """
    codes = np.asarray(y_true)
    losses = -np.log(np.maximum(y_pred, np.finfo(np.float64).tiny))
    of_labels = losses[np.arange(len(codes)), codes]
    return np.asarray(of_labels + PSEUDO_ROWS / len(codes) * losses.mean(axis=1))


def apply_temperature(
    weights: Mapping[str, Float32Array], temperature: float
) -> dict[str, Float32Array]:
    """Return the weights of the network whose outputs are divided by the temperature."""
    factor = np.float32(1 / temperature)
    return {
        name: np.asarray(array * factor, np.float32) if name.startswith("head.") else array
        for name, array in weights.items()
    }
