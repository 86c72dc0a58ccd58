"""Metrics as functions of row weights, and the influence of each row.

A weighted metric is created once from the true and the predicted values. `values` takes many
weightings at a time, for bootstraps; `influence` is the derivative by each row's weight, for normal
approximations. Sums are NumPy's and not a BLAS's, so they do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import frexp, ldexp
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabNASError
from tabnas.types import FloatArray, IntArray

MAX_CACHED_CELLS = 1 << 18
NEGLIGIBLE = 1e-12  # relative to a sum of squares: anything smaller is rounding


class WeightedMetric(Protocol):
    """A metric on fixed rows, as a function of their weights."""

    def values(self, weights: FloatArray) -> FloatArray:
        """Return the metric for each weighting [weightings, rows]; NaN where it is undefined."""

    def influence(self, weight: FloatArray) -> FloatArray:
        """Return h [rows]: counting row i c_i times adds about sum (c_i - 1) h_i to the metric."""


class WeightedMean:
    """The weighted mean of one number per row."""

    def __init__(self, numbers: NDArray[Any]) -> None:
        floats = np.asarray(numbers, np.float64)
        self.unit = power_of_two_unit(floats)
        self.numbers = floats / self.unit

    def values(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self.unit * ((weights * self.numbers).sum(axis=1) / weights.sum(axis=1)))

    def influence(self, weight: FloatArray) -> FloatArray:
        mean = self.values(weight[None])[0] / self.unit
        return np.asarray(self.unit * (weight / weight.sum() * (self.numbers - mean)))


class RootMeanSquare:
    """The root of the weighted mean of squares."""

    def __init__(self, numbers: FloatArray) -> None:
        self.unit = power_of_two_unit(numbers)
        self.squares = WeightedMean((numbers / self.unit) ** 2)

    def values(self, weights: FloatArray) -> FloatArray:
        return self.unit * np.sqrt(self.squares.values(weights))

    def influence(self, weight: FloatArray) -> FloatArray:
        root = self.values(weight[None])[0] / self.unit
        return self.unit * self.squares.influence(weight) / (2 * root or 1.0)


class R2:
    """R^2 = 1 - sum of w (y - z)^2 / sum of w (y - mean)^2; undefined if all y are equal."""

    def __init__(self, y_true: FloatArray, y_pred: FloatArray) -> None:
        unit = max(power_of_two_unit(y_true), power_of_two_unit(y_pred))
        self.y_true = y_true / unit - (y_true / unit).mean()
        self.errors = (y_true / unit - y_pred / unit) ** 2
        self.is_constant = bool((y_true == y_true[:1]).all())

    def values(self, weights: FloatArray) -> FloatArray:
        if self.is_constant:
            return np.full(len(weights), np.nan)
        total = weights.sum(axis=1)
        squares = (weights * self.y_true**2).sum(axis=1)
        spread = squares - (weights * self.y_true).sum(axis=1) ** 2 / total
        spread[spread <= NEGLIGIBLE * squares] = np.nan
        return np.asarray(1 - (weights * self.errors).sum(axis=1) / spread)

    def influence(self, weight: FloatArray) -> FloatArray:
        centered = self.y_true - WeightedMean(self.y_true).values(weight[None])[0]
        spread = (weight * centered**2).sum()
        ratio = (weight * self.errors).sum() / spread
        return np.asarray(weight * (ratio * centered**2 - self.errors) / spread)


class MacroMean:
    """The unweighted mean, over the classes that occur, of the weighted mean of their rows."""

    def __init__(self, numbers: NDArray[Any], codes: IntArray) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.starts = np.flatnonzero(np.diff(codes[self.order], prepend=-1))
        self.numbers = np.asarray(numbers, np.float64)[self.order]

    def values(self, weights: FloatArray) -> FloatArray:
        means, occurs = self._class_means(weights[:, self.order])
        return np.asarray(means.sum(axis=1) / occurs.sum(axis=1))

    def influence(self, weight: FloatArray) -> FloatArray:
        ordered = weight[self.order]
        means, occurs = self._class_means(ordered[None])
        sizes = np.diff(self.starts, append=len(ordered))
        totals = np.repeat(np.add.reduceat(ordered, self.starts), sizes)
        influence = np.empty(len(weight))
        influence[self.order] = (
            ordered * (self.numbers - np.repeat(means[0], sizes)) / totals / occurs.sum()
        )
        return influence

    def _class_means(self, ordered: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the mean of each class, 0 if it does not occur, and whether it occurs."""
        totals = np.add.reduceat(ordered, self.starts, axis=1)
        sums = np.add.reduceat(ordered * self.numbers, self.starts, axis=1)
        occurs = totals > 0
        return np.divide(sums, totals, out=np.zeros_like(sums), where=occurs), occurs


class RocAuc:
    """The area under the ROC curve: how often a row of a class scores above one of the others.

    Ties count half. With more than two classes, it is the mean over each class against all others.
    Undefined unless every class occurs.
    """

    def __init__(self, codes: IntArray, scores: FloatArray) -> None:
        """Take class numbers [rows] and probabilities [rows, classes]."""
        counts = np.bincount(codes, minlength=scores.shape[1])
        self.is_defined = bool((counts > 0).all())
        self.codes, self.scores = codes, scores
        self.positives = range(1, 2) if scores.shape[1] == 2 else range(scores.shape[1])
        self._cache: list[_BinaryAuc] = []

    def _binary_aucs(self) -> Iterable[_BinaryAuc]:
        """Return each class against the others, cached unless that takes much memory."""
        if self._cache:
            return self._cache
        binary = (_BinaryAuc(self.codes == c, self.scores[:, c]) for c in self.positives)
        if self.scores.size > MAX_CACHED_CELLS:
            return binary
        self._cache = list(binary)
        return self._cache

    def values(self, weights: FloatArray) -> FloatArray:
        if not self.is_defined:
            return np.full(len(weights), np.nan)
        total, count = np.zeros(len(weights)), np.zeros(len(weights))
        for binary in self._binary_aucs():
            auc = binary.values(weights)
            total += np.nan_to_num(auc)
            count += ~np.isnan(auc)
        count[count == 0] = np.nan
        return np.asarray(total / count)

    def influence(self, weight: FloatArray) -> FloatArray:
        influence = np.zeros(len(weight))
        for binary in self._binary_aucs():
            binary.add_influence(weight, influence)
        return np.asarray(influence / len(self.positives))


class _BinaryAuc:
    """One class against the others, with scores sorted once."""

    def __init__(self, is_positive: NDArray[np.bool_], scores: FloatArray) -> None:
        positive, negative = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
        self.positive = positive[np.argsort(scores[positive])]
        self.negative = negative[np.argsort(scores[negative])]
        self.positive_scores, self.negative_scores = scores[self.positive], scores[self.negative]
        self.negative_ranks = _rank(self.negative_scores, self.positive_scores)

    def values(self, weights: FloatArray) -> FloatArray:
        negative_total, negatives_below = _sum_below(weights[:, self.negative], self.negative_ranks)
        positive = weights[:, self.positive]
        all_pairs = positive.sum(axis=1) * negative_total
        right_pairs = (positive * negatives_below).sum(axis=1)
        undefined = np.full(len(right_pairs), np.nan)
        return np.asarray(np.divide(right_pairs, all_pairs, out=undefined, where=all_pairs > 0))

    def add_influence(self, weight: FloatArray, influence: FloatArray) -> None:
        # DeLong's components: the share of the other side against which a row is ranked right
        negative_total, negatives_below = _sum_below(
            weight[None, self.negative], self.negative_ranks
        )
        positive_total, positives_below = _sum_below(
            weight[None, self.positive], _rank(self.positive_scores, self.negative_scores)
        )
        positive = weight[self.positive] / positive_total
        negative = weight[self.negative] / negative_total
        auc = float((positive * negatives_below[0] / negative_total).sum())
        influence[self.positive] += positive * (negatives_below[0] / negative_total - auc)
        influence[self.negative] += negative * (1 - positives_below[0] / positive_total - auc)


def _rank(scores: FloatArray, others: FloatArray) -> tuple[IntArray, IntArray]:
    """Count how many sorted scores are below each of the others, and how many are not above."""
    return np.searchsorted(scores, others, "left"), np.searchsorted(scores, others, "right")


def _sum_below(
    weights: FloatArray, ranks: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the sum of all weights, and of those below each row of the other side."""
    sums = np.zeros((len(weights), weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    left, right = ranks
    below = sums[:, left]
    below += sums[:, right]
    below /= 2
    return sums[:, -1], below


def power_of_two_unit(numbers: FloatArray) -> float:
    """Return a power of two near the largest magnitude.

    Dividing by it is exact, and squares stay finite.
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    return ldexp(1.0, frexp(largest)[1] - 1) if largest else 1.0


def check_sample_weight(sample_weight: ArrayLike | None, rows: int) -> FloatArray:
    """Return the weights of `rows` rows as floats; None gives every row the weight 1."""
    weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (rows,):
        raise TabNASError(f"sample_weight must have the shape ({rows},), got {weight.shape}")
    valid = (weight >= 0) & (weight < np.inf)
    if not valid.all():
        raise TabNASError(
            "sample_weight must hold finite numbers of at least 0, got "
            f"{weight[~valid][0]:g} in row {int((~valid).argmax())}"
        )
    if not weight.any():
        raise TabNASError("at least one row must have a positive weight, but all have weight 0")
    return weight
