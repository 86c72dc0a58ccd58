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
from tabnas.types import FloatArray

WARMEST = 20.0
"""Temperatures stay between this and its inverse."""
SPREAD = 1.0
"""How far ln T strays before the rows have spoken; keeps a few perfect rows from T = 0."""
DOUBT = 0.5
"""Rows of any class that a network is taken to have seen besides, as in Jeffreys' prior: where all
rows held out are right, it is still not known that all others are (results/small_tables.md)."""


def fit_temperature(raw: Float32Array, truth: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The T for which logits / T [rows, outputs] suit the class numbers [rows] best.

    Minimises the log loss of all rows, with half a row of any class besides, plus
    (ln T / SPREAD)² / 2: the most probable T under a log-normal prior around 1. Weights count
    relative to their mean.

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
        surprise = doubtful_surprise(probabilities(logits / np.exp(log_temperature)), labels)
        return float((share * surprise).sum() + (log_temperature / SPREAD) ** 2 / 2)

    bound = np.log(WARMEST)
    best = minimize_scalar(badness, bounds=(-bound, bound), method="bounded")
    return float(np.exp(best.x))


def doubtful_surprise(chances: FloatArray, labels: ArrayLike) -> FloatArray:
    """The log loss of each row [rows], and with it a share of half a row of any class.

    >>> doubtful_surprise(np.array([[0.5, 0.5]]), [0]).round(3).tolist()  # 1.5 ln 2
    [1.04]
    """
    known = np.asarray(labels)
    surprise = -np.log(np.maximum(chances, np.finfo(np.float64).tiny))
    own = surprise[np.arange(len(known)), known]
    return np.asarray(own + DOUBT / len(known) * surprise.mean(axis=1))


def tempered(weights: Mapping[str, Float32Array], temperature: float) -> dict[str, Float32Array]:
    """The weights of a network whose outputs are divided by the temperature."""
    factor = np.float32(1 / temperature)
    return {
        name: np.asarray(array * factor, np.float32) if name.startswith("head.") else array
        for name, array in weights.items()
    }
