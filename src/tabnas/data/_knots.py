"""Knots: the values of a numeric feature between which its embedding is read.

Here they are quantiles of its encoded training values, so that each gap between two knots holds
about as many rows as any other. `_target_knots` chooses them by the target.
"""

from __future__ import annotations

import numpy as np

from tabnas.types import Float32Array

SUMMARY_VALUES = 1025
"""Order statistics that are kept of a feature, evenly spaced: one for every 0.1 % of the rows."""
MIN_KNOTS = 3
"""With two knots, an embedding is a straight line, which the value itself is already."""
MIN_GAP = float(np.finfo(np.float32).tiny)
MAX_KNOT = float(np.finfo(np.float32).max) / 2
"""A gap between two knots and its reciprocal must be ordinary float32 numbers."""


def summarize_values(numeric: Float32Array) -> list[Float32Array]:
    """Return evenly spaced order statistics of each column of encoded values, [rows, columns]."""
    return [pick_evenly(np.sort(column)) for column in numeric.T]


def pick_evenly(ordered: Float32Array, count: int = SUMMARY_VALUES) -> Float32Array:
    """Return at most `count` of some ascending values, evenly spaced."""
    places = np.linspace(0, len(ordered) - 1, min(len(ordered), count)).round()
    return ordered[places.astype(np.int64)]


def choose_knots(summary: Float32Array, max_knots: int) -> tuple[float, ...]:
    """Return ascending knots of a feature, at most `max_knots`; none if they would be of no use.

    If there are no more values than that, all are knots. Else the knots are quantiles; a value that
    is many quantiles at once becomes one knot, and the rest of the range is divided more finely.

    >>> choose_knots(np.array([0, 0, 0, 1, 1, 2], np.float32), 8)
    (0.0, 1.0, 2.0)
    >>> half_zeros = np.concatenate([np.zeros(50), np.arange(1, 51)]).astype(np.float32)
    >>> choose_knots(half_zeros, 6)
    (0.0, 6.0, 17.0, 28.0, 39.0, 50.0)
    >>> choose_knots(np.array([0, 1, 1], np.float32), 8)
    ()
    """
    summary = _round_extremes(summary)
    knots = np.unique(summary)
    if len(knots) > max_knots:
        low, high = max_knots, len(summary)  # numbers of quantiles
        while low < high:
            middle = (low + high + 1) // 2
            if len(_quantiles(summary, middle)) <= max_knots:
                low = middle
            else:
                high = middle - 1
        knots = _quantiles(summary, low)
    return tuple(knots.tolist()) if len(knots) >= MIN_KNOTS else ()


def _quantiles(summary: Float32Array, number: int) -> Float32Array:
    """Return the distinct ones of evenly spaced quantiles."""
    places = np.linspace(0, len(summary) - 1, number).round().astype(np.int64)
    return np.unique(summary[places])


def _round_extremes(values: Float32Array) -> Float32Array:
    """Return the values in the range of knots, with no two of them closer than the least gap."""
    inside = np.clip(values.astype(np.float64), -MAX_KNOT, MAX_KNOT)
    return np.asarray(np.rint(inside / MIN_GAP) * MIN_GAP, np.float32)
