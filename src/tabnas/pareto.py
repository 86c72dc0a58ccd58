"""Pareto optimality of two quantities, of which less is better."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tabnas.types import BoolArray


def is_pareto_optimal(costs: ArrayLike, losses: ArrayLike) -> BoolArray:
    """Return which points no other point dominates, [points].

    A point dominates another if it is not larger in cost and loss, and smaller in one of them.

    >>> is_pareto_optimal([1, 2, 2, 3], [0.5, 0.4, 0.6, 0.4]).tolist()
    [True, True, False, False]
    """
    costs, losses = np.asarray(costs, np.float64), np.asarray(losses, np.float64)
    no_larger = (costs[:, None] <= costs) & (losses[:, None] <= losses)
    smaller = (costs[:, None] < costs) | (losses[:, None] < losses)
    return np.asarray(~(no_larger & smaller).any(axis=0))
