"""How a metric is computed: exactly for any row weights, and how much each row moves it.

A measure is made once from truth and prediction. `values` takes many weightings at a time, which
is what a bootstrap needs; `influence` is the derivative by each row's weight, which is what a
normal approximation needs. Sums are NumPy's own, not a BLAS's, so they do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import frexp, ldexp
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabnas.types import FloatArray, IntArray

REMEMBERED_CELLS = 1 << 18
NEGLIGIBLE = 1e-12  # of a sum of squares: what is less is rounding


class Measure(Protocol):
    """A metric on given rows."""

    def values(self, weights: FloatArray) -> FloatArray:
        """The metric under each weighting [weightings, rows]; NaN where it is not defined."""

    def influence(self, weight: FloatArray) -> FloatArray:
        """[rows]: counting row i c_i times makes the metric m about m + sum of (c_i - 1) h_i."""


class Mean:
    """The weighted mean of one number a row."""

    def __init__(self, numbers: NDArray[Any]) -> None:
        floats = np.asarray(numbers, np.float64)
        self.unit = unit_of(floats)
        self.numbers = floats / self.unit

    def values(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self.unit * ((weights * self.numbers).sum(axis=1) / weights.sum(axis=1)))

    def influence(self, weight: FloatArray) -> FloatArray:
        mean = self.values(weight[None])[0] / self.unit
        return np.asarray(self.unit * (weight / weight.sum() * (self.numbers - mean)))


class RootMean:
    """The root of the mean square."""

    def __init__(self, numbers: FloatArray) -> None:
        self.unit = unit_of(numbers)
        self.squares = Mean((numbers / self.unit) ** 2)

    def values(self, weights: FloatArray) -> FloatArray:
        return self.unit * np.sqrt(self.squares.values(weights))

    def influence(self, weight: FloatArray) -> FloatArray:
        root = self.values(weight[None])[0] / self.unit
        return self.unit * self.squares.influence(weight) / (2 * root or 1.0)


class Determination:
    """R^2 = 1 - sum of w (y - z)^2 / sum of w (y - mean)^2; not defined if all y are equal."""

    def __init__(self, truth: FloatArray, prediction: FloatArray) -> None:
        unit = max(unit_of(truth), unit_of(prediction))
        self.truth = truth / unit - (truth / unit).mean()
        self.errors = (truth / unit - prediction / unit) ** 2
        self.constant = bool((truth == truth[:1]).all())

    def values(self, weights: FloatArray) -> FloatArray:
        if self.constant:
            return np.full(len(weights), np.nan)
        total = weights.sum(axis=1)
        squares = (weights * self.truth**2).sum(axis=1)
        spread = squares - (weights * self.truth).sum(axis=1) ** 2 / total
        spread[spread <= NEGLIGIBLE * squares] = np.nan
        return np.asarray(1 - (weights * self.errors).sum(axis=1) / spread)

    def influence(self, weight: FloatArray) -> FloatArray:
        centred = self.truth - Mean(self.truth).values(weight[None])[0]
        spread = (weight * centred**2).sum()
        ratio = (weight * self.errors).sum() / spread
        return np.asarray(weight * (ratio * centred**2 - self.errors) / spread)


class MeanOverClasses:
    """The mean, over the classes that occur, of the weighted mean of one number a row."""

    def __init__(self, numbers: NDArray[Any], codes: IntArray) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.starts = np.flatnonzero(np.diff(codes[self.order], prepend=-1))
        self.numbers = np.asarray(numbers, np.float64)[self.order]

    def values(self, weights: FloatArray) -> FloatArray:
        means, occurs = self._means(weights[:, self.order])
        return np.asarray(means.sum(axis=1) / occurs.sum(axis=1))

    def influence(self, weight: FloatArray) -> FloatArray:
        ordered = weight[self.order]
        means, occurs = self._means(ordered[None])
        sizes = np.diff(self.starts, append=len(ordered))
        totals = np.repeat(np.add.reduceat(ordered, self.starts), sizes)
        moved = ordered * (self.numbers - np.repeat(means[0], sizes)) / totals / occurs.sum()
        influence = np.empty(len(weight))
        influence[self.order] = moved
        return influence

    def _means(self, ordered: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The mean of each class, 0 if it does not occur, and whether it does."""
        totals = np.add.reduceat(ordered, self.starts, axis=1)
        sums = np.add.reduceat(ordered * self.numbers, self.starts, axis=1)
        occurs = totals > 0
        return np.divide(sums, totals, out=np.zeros_like(sums), where=occurs), occurs


class Area:
    """The area under the ROC curve: how often a row of a class scores above one of the others.

    Ties count half. With more than two classes, the mean over each class against all others; not
    defined unless every class occurs.
    """

    def __init__(self, codes: IntArray, scores: FloatArray) -> None:
        """Take class numbers [rows] and probabilities [rows, classes]."""
        classes = range(1, 2) if scores.shape[1] == 2 else range(scores.shape[1])
        counts = np.bincount(codes, minlength=scores.shape[1])
        self.defined = bool((counts > 0).all())
        self.codes, self.scores, self.classes = codes, scores, classes
        self.remembered: list[_Pair] = []

    def _pairs(self) -> Iterable[_Pair]:
        """Each class against the others: sorted once, or every time if that is a lot to keep."""
        if self.remembered:
            return self.remembered
        pairs = (_Pair(self.codes == c, self.scores[:, c]) for c in self.classes)
        if self.scores.size > REMEMBERED_CELLS:
            return pairs
        self.remembered = list(pairs)
        return self.remembered

    def values(self, weights: FloatArray) -> FloatArray:
        if not self.defined:
            return np.full(len(weights), np.nan)
        total, occurring = np.zeros(len(weights)), np.zeros(len(weights))
        for pair in self._pairs():
            area = pair.area(weights)
            total += np.nan_to_num(area)
            occurring += ~np.isnan(area)
        occurring[occurring == 0] = np.nan
        return np.asarray(total / occurring)

    def influence(self, weight: FloatArray) -> FloatArray:
        influence = np.zeros(len(weight))
        for pair in self._pairs():
            pair.add_influence(weight, influence)
        return np.asarray(influence / len(self.classes))


class _Pair:
    """One class against the others, scores sorted once."""

    def __init__(self, positive: NDArray[np.bool_], scores: FloatArray) -> None:
        above, below = np.flatnonzero(positive), np.flatnonzero(~positive)
        self.above = above[np.argsort(scores[above])]
        self.below = below[np.argsort(scores[below])]
        self.high, self.low = scores[self.above], scores[self.below]
        self.beneath = _places(self.low, self.high)

    def area(self, weights: FloatArray) -> FloatArray:
        passed, beneath = _ranks(weights[:, self.below], self.beneath)
        own = weights[:, self.above]
        most = own.sum(axis=1) * passed
        pairs = (own * beneath).sum(axis=1)
        undefined = np.full(len(pairs), np.nan)
        return np.asarray(np.divide(pairs, most, out=undefined, where=most > 0))

    def add_influence(self, weight: FloatArray, influence: FloatArray) -> None:
        # DeLong's components: the share of the other side that each row is ranked rightly against
        below, beneath = _ranks(weight[None, self.below], self.beneath)
        above, not_above = _ranks(weight[None, self.above], _places(self.high, self.low))
        own = weight[self.above] / above
        area = float((own * beneath[0] / below).sum())
        influence[self.above] += own * (beneath[0] / below - area)
        influence[self.below] += weight[self.below] / below * (1 - not_above[0] / above - area)


def _places(side: FloatArray, others: FloatArray) -> tuple[IntArray, IntArray]:
    """How many of a sorted side score less than each of the others, and how many no more."""
    return np.searchsorted(side, others, "left"), np.searchsorted(side, others, "right")


def _ranks(weights: FloatArray, places: tuple[IntArray, IntArray]) -> tuple[FloatArray, FloatArray]:
    """All the weight of one side, and how much of it lies below each row of the other."""
    sums = np.zeros((len(weights), weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    left, right = places
    below = sums[:, left]
    below += sums[:, right]
    below /= 2
    return sums[:, -1], below


def unit_of(numbers: FloatArray) -> float:
    """A power of two near the largest magnitude: dividing by it is exact, squares stay finite."""
    largest = float(np.abs(numbers).max(initial=0.0))
    return ldexp(1.0, frexp(largest)[1] - 1) if largest else 1.0
