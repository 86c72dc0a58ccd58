"""A decision tree of one feature, whose rows are counted by bin.

It grows best first, as scikit-learn's do with `max_leaf_nodes`, so that the tree of fewer leaves is
the beginning of a larger one. A split gains log-likelihood: each leaf has class frequencies of its
own, or a mean of its own if the target is a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from tabnas.types import FloatArray, IntArray

MIN_GAIN = 1e-6
"""Nats of a split that are more than rounding errors."""


@dataclass(frozen=True, eq=False)
class BinnedTarget:
    """What the rows below each bin add up to."""

    rows_below: FloatArray  # [bins + 1], or the weights of rows, from 0
    sums_below: FloatArray  # [bins + 1, classes] rows of a class; [bins + 1, 1] sums of numbers
    variance: float | None  # of the numbers; None for classes

    @classmethod
    def from_classes(
        cls, bins: IntArray, y: IntArray, classes: int, weight: FloatArray
    ) -> BinnedTarget:
        """Count the rows of each class in each bin."""
        cells: FloatArray = np.bincount(
            bins * classes + y, weight, classes * (1 + int(bins.max()))
        ).astype(np.float64)
        counts = cells.reshape(-1, classes)
        return cls(_add_up(counts.sum(axis=1)), _add_up(counts), None)

    @classmethod
    def from_numbers(cls, bins: IntArray, y: FloatArray, weight: FloatArray) -> BinnedTarget:
        """Add up the numbers of each bin, as differences from their mean."""
        deviations = y - np.average(y, weights=weight)
        sums = np.bincount(bins, weight * deviations).astype(np.float64)
        variance = float(np.average(deviations**2, weights=weight))
        rows = np.bincount(bins, weight).astype(np.float64)
        return cls(_add_up(rows), _add_up(sums[:, None]), variance)

    def find_splits(self, max_splits: int, *, min_gain: float, min_rows: float) -> IntArray:
        """Return the last bin before each split, in the order in which the tree grows.

        Every split gains at least `min_gain` nats, and leaves `min_rows` on both sides.
        """
        found: list[int] = []
        open_leaves: list[tuple[float, int, int, int]] = []

        def add_leaf(low: int, high: int) -> None:
            split, gain = self._find_best_split(low, high, min_rows)
            if gain >= max(min_gain, MIN_GAIN):
                heappush(open_leaves, (-gain, low, split, high))

        add_leaf(0, len(self.rows_below) - 1)
        while open_leaves and len(found) < max_splits:
            _, low, split, high = heappop(open_leaves)
            found.append(split - 1)
            add_leaf(low, split)
            add_leaf(split, high)
        return np.array(found, np.int64)

    def find_medians(self, splits: IntArray) -> IntArray:
        """Return the bin of the median row of each leaf."""
        edges = np.concatenate([[0], np.sort(splits) + 1, [len(self.rows_below) - 1]])
        below = self.rows_below[edges]
        middles: IntArray = np.searchsorted(self.rows_below[1:], (below[:-1] + below[1:]) / 2)
        return middles

    def _find_best_split(self, low: int, high: int, min_rows: float) -> tuple[int, float]:
        """Return the first bin above the best split of the bins [low, high), and what it gains."""
        rows, sums = self.rows_below, self.sums_below
        between = slice(low + 1, high)
        left, right = rows[between] - rows[low], rows[high] - rows[between]
        is_allowed = (left >= min_rows) & (right >= min_rows)
        if not is_allowed.any():
            return low, 0.0
        gains = (
            self._log_likelihood(left, sums[between] - sums[low])
            + self._log_likelihood(right, sums[high] - sums[between])
            - self._log_likelihood(rows[[high]] - rows[low], sums[[high]] - sums[low])
        )
        best = int(np.where(is_allowed, gains, -np.inf).argmax())
        return low + 1 + best, float(gains[best])

    def _log_likelihood(self, rows: FloatArray, sums: FloatArray) -> FloatArray:
        """Return that of the rows of a leaf [...], up to what no split changes, in nats."""
        if self.variance is None:  # sum over classes of n_c log(n_c / n)
            likelihood: FloatArray = _x_log_x(sums).sum(axis=-1) - _x_log_x(rows)
            return likelihood
        # n mean^2 / (2 variance)
        scale = 2 * self.variance * rows
        return np.divide(sums[..., 0] ** 2, scale, where=scale > 0, out=np.zeros_like(rows))


def _add_up(values: FloatArray) -> FloatArray:
    """Return the sums of what is below each bin, and of all."""
    return np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])


def _x_log_x(values: FloatArray) -> FloatArray:
    # differences of sums of weights may be a little below 0
    return np.asarray(values * np.log(values, where=values > 0, out=np.zeros_like(values)))
