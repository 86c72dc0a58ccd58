"""Probabilities that mean what they say: one temperature, fitted on rows held out.

Networks grow too sure of themselves (Guo et al. 2017, "On calibration of modern neural networks").
Dividing all logits by one number changes no label and no ranking of classes, and mends most of
it. The number goes into the output layer, so a calibrated network is a network like any other: no
further parameter, nothing to do at prediction, nothing to export.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tabnas.model._model import probabilities
from tabnas.model._task import Float32Array

WARMEST = 20.0
"""Temperatures stay between this and its inverse."""
SPREAD = 1.0
"""How far ln T strays before the rows have spoken; keeps a few perfect rows from T = 0."""


def fit_temperature(raw: Float32Array, truth: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The T for which logits / T [rows, outputs] suit the class numbers [rows] best.

    Minimises the log loss of all rows plus (ln T / SPREAD)² / 2: the most probable T under a
    log-normal prior around 1. Weights count relative to their mean.

    >>> sure = np.array([[9.0], [9.0], [9.0], [-9.0]], np.float32)
    >>> fit_temperature(sure, [1, 1, 0, 0]) > 3
    True
    """
    from scipy.optimize import minimize_scalar  # takes long to import, and predicting needs none

    labels = np.asarray(truth, np.int64)
    given = np.ones(len(labels)) if weight is None else np.asarray(weight, np.float64)
    rows = given > 0
    if not rows.any():
        return 1.0
    logits, labels = np.asarray(raw, np.float64)[rows], labels[rows]
    share = given[rows] / given[rows].mean()

    def badness(log_temperature: float) -> float:
        chance = probabilities(logits / np.exp(log_temperature))[np.arange(len(labels)), labels]
        surprise = -np.log(np.maximum(chance, np.finfo(np.float64).tiny))
        return float((share * surprise).sum() + (log_temperature / SPREAD) ** 2 / 2)

    bound = np.log(WARMEST)
    best = minimize_scalar(badness, bounds=(-bound, bound), method="bounded")
    return float(np.exp(best.x))


def tempered(weights: Mapping[str, Float32Array], temperature: float) -> dict[str, Float32Array]:
    """The weights of a network whose outputs are divided by the temperature."""
    factor = np.float32(1 / temperature)
    return {
        name: np.asarray(array * factor, np.float32) if name.startswith("head.") else array
        for name, array in weights.items()
    }
