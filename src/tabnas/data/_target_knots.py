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
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data._feature_tree import BinnedTarget
from tabnas.data._knots import choose_knots, pick_evenly
from tabnas.types import Float32Array, FloatArray, IntArray

KNOTS_PER_SPLIT = 2
MAX_BINS = 4_096
"""A feature with more distinct values is divided at this many quantiles, for speed."""
MIN_LEAF_ROWS = 20
MIN_TREE_KNOTS = 6
"""A feature with fewer has some quantiles in addition: it may matter together with others only."""
MAX_CLASSES = 32
"""The rarest classes count as one, since the time of a tree grows with their number."""
TAIL = 0.005
"""Numbers beyond this quantile, and beyond 1 minus it, count as the quantile: a few far out would
be all that a tree sees."""


@dataclass(frozen=True, eq=False)
class KnotTarget:
    """What trees predict: class indices, or numbers if `classes` is 0."""

    y: NDArray[Any]
    classes: int
    weight: NDArray[np.floating[Any]] | None = None

    def take(self, rows: IntArray) -> KnotTarget:
        """Return the target of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return KnotTarget(self.y[rows], self.classes, weight)

    def simplify(self) -> KnotTarget:
        """Return the target with at most `MAX_CLASSES` classes, or without numbers far out."""
        if not self.classes:
            low, high = np.quantile(self.y, [TAIL, 1 - TAIL])
            return KnotTarget(np.clip(self.y, low, high), 0, self.weight)
        if self.classes <= MAX_CLASSES:
            return self
        by_frequency = np.argsort(-np.bincount(self.y, minlength=self.classes), kind="stable")
        ranks = np.empty(self.classes, np.int64)
        ranks[by_frequency] = np.arange(self.classes)
        return KnotTarget(np.minimum(ranks, MAX_CLASSES - 1)[self.y], MAX_CLASSES, self.weight)

    def scale_weight(self) -> FloatArray:
        """Return weights that add up to the effective number of rows, (sum w)^2 / sum w^2.

        With the number of rows itself, a few rows of large weight would look like many rows.
        """
        if self.weight is None or not self.weight.any():
            return np.ones(len(self.y))
        weight = np.asarray(self.weight, np.float64) / self.weight.max()
        scaled: FloatArray = weight * (weight.sum() / np.square(weight).sum())
        return scaled

    def split_cost(self, rows: float) -> float:
        """Return the nats that a split must gain: log(rows) / 2 for each parameter of its knots.

        A knot has a parameter for each output, and of the probabilities of all classes one follows
        from the others.
        """
        return KNOTS_PER_SPLIT * max(1, self.classes - 1) * log(max(rows, 1.0)) / 2


def choose_target_knots(
    numeric: Float32Array, target: KnotTarget, counts: Sequence[int]
) -> dict[int, tuple[tuple[float, ...], ...]]:
    """Return the knots of every column [rows, columns], at most n for each n of `counts`."""
    target = target.simplify()
    weight = target.scale_weight()
    columns = [_choose_for_column(column, target, weight, counts) for column in numeric.T]
    return {count: tuple(column[count] for column in columns) for count in counts}


def _choose_for_column(
    column: Float32Array, target: KnotTarget, weight: FloatArray, counts: Sequence[int]
) -> dict[int, tuple[float, ...]]:
    ordered = np.sort(column)
    summary, values = pick_evenly(ordered), np.unique(ordered)
    if len(values) <= MIN_TREE_KNOTS:  # a rare one may be in no quantile
        return {n: choose_knots(values if len(values) <= n else summary, n) for n in counts}
    bins = values if len(values) <= MAX_BINS else np.unique(pick_evenly(ordered, MAX_BINS))
    binned = _sum_by_bin(np.searchsorted(bins, column), target, weight)
    splits = binned.find_splits(
        _max_splits(max(counts)),
        min_gain=target.split_cost(weight.sum()),
        min_rows=MIN_LEAF_ROWS,
    )
    chosen = {}
    for count in counts:
        ends = splits[: _max_splits(count)]
        above = values[np.searchsorted(values, bins[ends], side="right")]
        thresholds = bins[ends] / 2 + above / 2  # their sum might overflow
        medians = bins[binned.find_medians(ends)] if len(ends) else bins[:0]
        knots = np.concatenate([medians, thresholds])
        chosen[count] = choose_knots(_add_quantiles(knots, values, summary, count), count)
    return chosen


def _sum_by_bin(bins: IntArray, target: KnotTarget, weight: FloatArray) -> BinnedTarget:
    if target.classes:
        return BinnedTarget.from_classes(bins, target.y, target.classes, weight)
    return BinnedTarget.from_numbers(bins, target.y, weight)


def _max_splits(count: int) -> int:
    """Return how many splits this number of knots allows, with the medians and both ends."""
    return max(0, (count - 1) // KNOTS_PER_SPLIT - 1)


def _add_quantiles(
    knots: Float32Array, values: Float32Array, summary: Float32Array, count: int
) -> Float32Array:
    """Return the knots of a tree and both ends; of few, with as many quantiles as there may be."""
    wanted = min(count, MIN_TREE_KNOTS)
    for number in range(wanted, 1, -1):
        ends = values[[0, -1]] if len(knots) else values[:0]
        more = np.array(choose_knots(summary, number), np.float32)
        filled = np.unique(np.concatenate([knots, ends, more]))
        if len(filled) <= wanted:
            return filled
    return np.unique(np.concatenate([knots, values[[0, -1]]]))
