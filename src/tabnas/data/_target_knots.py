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

    @property
    def split_cost(self) -> float:
        """The nats that a split must gain: log(rows) / 2 for each parameter of its knots.

        A knot has a parameter for each output, and of the probabilities of all classes one follows
        from the others.
        """
        return KNOTS_PER_SPLIT * max(1, self.classes - 1) * log(len(self.y)) / 2

    def sum_by_bin(self, bins: IntArray) -> BinnedTarget:
        """Return the target by the bin of each row; the weights add up to the number of rows."""
        weight = np.ones(len(bins))
        if self.weight is not None and self.weight.sum() > 0:
            weight = self.weight * (len(bins) / self.weight.sum())
        if self.classes:
            return BinnedTarget.from_classes(bins, self.y, self.classes, weight)
        return BinnedTarget.from_numbers(bins, self.y, weight)


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
    if len(bins) <= MIN_TREE_KNOTS:
        return {count: choose_knots(summary, count) for count in counts}
    binned = target.sum_by_bin(np.searchsorted(bins, column))
    splits = binned.find_splits(
        _max_splits(max(counts)), min_gain=target.split_cost, min_rows=MIN_LEAF_ROWS
    )
    chosen = {}
    for count in counts:
        ends = splits[: _max_splits(count)]
        thresholds = bins[ends] / 2 + bins[ends + 1] / 2  # their sum might overflow
        medians = bins[binned.find_medians(ends)]
        inside = np.unique(np.concatenate([bins[:1], medians, thresholds, bins[-1:]]))
        knots = choose_knots(inside, count)
        if len(knots) < MIN_TREE_KNOTS:
            knots = choose_knots(summary, min(count, MIN_TREE_KNOTS))
        chosen[count] = knots
    return chosen


def _max_splits(count: int) -> int:
    """Return how many splits so many knots allow, with the medians and both ends."""
    return max(0, (count - 1) // KNOTS_PER_SPLIT - 1)
