"""Knots where the target changes, by a small decision tree of one feature.

Quantiles give a feature without influence as many knots as one whose every value matters. More
knots than a feature needs cost parameters, and let a network overfit. So a tree that predicts the
target from this feature alone divides its values. The knots are its thresholds and the medians of
its leaves: a value that differs from both neighbours has a knot of its own, with one on each side.
A split must pay for the two knots that it adds, by the Bayesian information criterion.

Trees divide numbers by entropy in Fayyad and Irani (1993), and choose the bins of piecewise-linear
encodings in Gorishniy et al. (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data._knots import Float32Array, choose_knots, summarize_values
from tabnas.types import FloatArray, IntArray

KNOTS_PER_SPLIT = 2
MAX_BINS = 4_096
"""A feature with more distinct values is divided at quantiles, for speed."""
MIN_LEAF_ROWS = 20
MIN_TREE_KNOTS = 6
"""A feature with fewer has so many quantiles: it may matter together with others only."""
MAX_CLASSES = 32
"""The rarest classes count as one, since the time of a tree grows with their number."""


@dataclass(frozen=True, eq=False)
class KnotTarget:
    """What trees predict: class indices, or numbers if `classes` is 0."""

    y: NDArray[Any]
    classes: int
    weight: FloatArray | None = None

    def take(self, rows: IntArray) -> KnotTarget:
        """Return the target of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return KnotTarget(self.y[rows], self.classes, weight)

    def pool_rare_classes(self) -> KnotTarget:
        """Return the target with at most `MAX_CLASSES` classes."""
        if self.classes <= MAX_CLASSES:
            return self
        by_frequency = np.argsort(-np.bincount(self.y, minlength=self.classes), kind="stable")
        ranks = np.empty(self.classes, np.int64)
        ranks[by_frequency] = np.arange(self.classes)
        return KnotTarget(np.minimum(ranks, MAX_CLASSES - 1)[self.y], MAX_CLASSES, self.weight)


def choose_target_knots(
    numeric: Float32Array, target: KnotTarget, counts: Sequence[int]
) -> dict[int, tuple[tuple[float, ...], ...]]:
    """Return the knots of every column [rows, columns], at most n for each n of `counts`."""
    target = target.pool_rare_classes()
    columns = [
        _choose_for_column(column, summary, target, counts)
        for column, summary in zip(numeric.T, summarize_values(numeric), strict=True)
    ]
    return {count: tuple(column[count] for column in columns) for count in counts}


def _choose_for_column(
    column: Float32Array, summary: Float32Array, target: KnotTarget, counts: Sequence[int]
) -> dict[int, tuple[float, ...]]:
    bins = np.unique(column)
    if len(bins) > MAX_BINS:
        bins = np.unique(summary)
    quantiles = {count: choose_knots(summary, min(count, MIN_TREE_KNOTS)) for count in counts}
    if len(bins) <= MIN_TREE_KNOTS:
        return {count: choose_knots(summary, count) for count in counts}
    cells = _Cells.from_rows(np.searchsorted(bins, column), target)
    chosen = {}
    for count in counts:
        knots: tuple[float, ...] = ()
        if count >= MIN_TREE_KNOTS:
            medians, ends = cells.find_leaves((count - 1) // KNOTS_PER_SPLIT)
            thresholds = bins[ends] / 2 + bins[ends + 1] / 2  # their sum might overflow
            inside = np.concatenate([bins[:1], bins[medians], thresholds, bins[-1:]])
            knots = choose_knots(np.unique(inside), count)
        chosen[count] = knots if len(knots) >= MIN_TREE_KNOTS else quantiles[count]
    return chosen


@dataclass(frozen=True, eq=False)
class _Cells:
    """Rows with the same bin of a column and the same class, counted; or the mean of a bin."""

    bins: IntArray
    y: NDArray[Any]
    weight: FloatArray  # adds up to the number of rows
    classes: int
    variance: float  # of the numbers of all rows; 0 for classes

    @classmethod
    def from_rows(cls, bins: IntArray, target: KnotTarget) -> _Cells:
        weight = np.ones(len(bins))
        if target.weight is not None and target.weight.sum() > 0:
            weight = target.weight * (len(bins) / target.weight.sum())
        cells = bins * target.classes + target.y if target.classes else bins
        total: FloatArray = np.bincount(cells, weight).astype(np.float64)
        used = np.flatnonzero(total)
        if target.classes:
            found, y = np.divmod(used, target.classes)
            return cls(found, y, total[used], target.classes, 0.0)
        means = np.bincount(cells, weight * target.y)[used] / total[used]
        deviations = target.y - np.average(target.y, weights=weight)
        return cls(used, means, total[used], 0, float(np.average(deviations**2, weights=weight)))

    def find_leaves(self, max_leaves: int) -> tuple[IntArray, IntArray]:
        """Return the median bin of each leaf of the best tree, and the last bin of all but one."""
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        rows = self.weight.sum()
        options = {
            "max_leaf_nodes": max_leaves,
            "min_weight_fraction_leaf": min(0.5, MIN_LEAF_ROWS / rows),
            "random_state": 0,
        }
        # a split pays if it saves log(rows) / 2 for each parameter: a knot has one for each output
        if self.classes:
            bits = KNOTS_PER_SPLIT * (self.classes - 1) * np.log2(rows) / 2
            tree = DecisionTreeClassifier(
                criterion="entropy", min_impurity_decrease=bits / rows, **options
            )
        else:  # a squared error e is e / (2 variance) nats
            nats = KNOTS_PER_SPLIT * np.log(rows) / 2
            tree = DecisionTreeRegressor(
                min_impurity_decrease=nats * 2 * self.variance / rows, **options
            )
        inputs = self.bins[:, None].astype(np.float32)
        leaves = tree.fit(inputs, self.y, self.weight).apply(inputs)
        medians, ends = [], []
        for leaf in np.unique(leaves):
            bins, weight = self.bins[leaves == leaf], self.weight[leaves == leaf]
            below = np.cumsum(weight)
            medians.append(bins[np.searchsorted(below, below[-1] / 2)])
            ends.append(bins[-1])
        return np.array(medians), np.sort(ends)[:-1]
