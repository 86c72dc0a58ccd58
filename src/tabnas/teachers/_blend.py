"""Combine the answers of all fits and of several teachers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.nets import Loss
from tabnas.teachers._folds import NO_FOLD, Fit
from tabnas.types import BoolArray, Float32Array, FloatArray, IntArray

MIN_PROBABILITY = 1e-7
DIGITS = 2  # of the share of a teacher


def join_out_of_fold(
    fits: Sequence[Fit], answers: Sequence[Float32Array], folds: IntArray
) -> Float32Array:
    """Return the answers to all rows, [rows, outputs], by fits that leave out the fold of a row.

    Rows of no fold get the mean of these fits.
    """
    used = [pair for pair in zip(fits, answers, strict=True) if len(pair[0].left_out) == 1]
    return _join(used, folds, folds != NO_FOLD)


def join_without_fold(
    fits: Sequence[Fit], answers: Sequence[Float32Array], folds: IntArray, fold: int
) -> Float32Array:
    """Return the answers to the rows of other folds, [rows, outputs], by fits that leave out both.

    So these models have not learned from the labels of `fold`. Its own rows have the answer 0, and
    rows of no fold the mean of these fits.
    """
    used = [
        (fit, part)
        for fit, part in zip(fits, answers, strict=True)
        if len(fit.left_out) == 2 and fold in fit.left_out
    ]
    return _join(used, folds, (folds != NO_FOLD) & (folds != fold))


def _join(
    used: Sequence[tuple[Fit, Float32Array]], folds: IntArray, has_fit: BoolArray
) -> Float32Array:
    """Return the answers to rows that have a fit of their own, and means for rows of no fold."""
    joined = np.zeros((len(folds), used[0][1].shape[1]), np.float32)
    for fit, part in used:
        mine = has_fit[fit.answered]
        joined[fit.answered[mine]] = part[mine]
        new = folds[fit.answered] == NO_FOLD
        joined[fit.answered[new]] += part[new] / np.float32(len(used))
    return joined


def row_losses(loss: Loss, answers: NDArray[Any], y: NDArray[Any]) -> FloatArray:
    """Return the loss of each row: log loss, or squared error of scaled values.

    >>> row_losses(Loss.LOGISTIC, np.array([[0.5], [1.0]]), np.array([0, 1])).round(2).tolist()
    [0.69, 0.0]
    """
    values = answers.astype(np.float64)
    if loss is Loss.SQUARED_ERROR:
        return np.asarray((values[:, 0] - y) ** 2)
    if loss is Loss.LOGISTIC:
        right = np.where(y == 1, values[:, 0], 1.0 - values[:, 0])
    else:
        right = values[np.arange(len(y)), y]
    return np.asarray(np.log(1.0 / np.clip(right, MIN_PROBABILITY, 1.0)))


def mean_loss(
    loss: Loss, answers: NDArray[Any], y: NDArray[Any], weight: FloatArray | None
) -> float:
    """Return the weighted mean loss of answers."""
    return float(np.average(row_losses(loss, answers, y), weights=weight))


def choose_shares(
    loss: Loss,
    answers: Mapping[str, Float32Array],
    y: NDArray[Any],
    weight: FloatArray | None = None,
) -> dict[str, float]:
    """Return the share of each teacher in the blend with the lowest loss; at most two teachers.

    The loss of a mixture is convex in the share, so a line search finds it.
    """
    from scipy.optimize import minimize_scalar

    names = list(answers)
    if len(names) == 1:
        return {names[0]: 1.0}
    first, second = names
    a, b = answers[first].astype(np.float64), answers[second].astype(np.float64)

    def blended(share: float) -> float:
        return mean_loss(loss, share * a + (1.0 - share) * b, y, weight)

    inside = minimize_scalar(blended, bounds=(0.0, 1.0), method="bounded").x
    share = min((round(float(inside), DIGITS), 0.0, 1.0), key=blended)
    return {first: share, second: round(1.0 - share, DIGITS)}


def blend(answers: Mapping[str, Float32Array], shares: Mapping[str, float]) -> Float32Array:
    """Return the weighted mean of the answers of several teachers."""
    total: Float32Array = sum(np.float32(shares[name]) * part for name, part in answers.items())  # type: ignore[assignment]
    return total
