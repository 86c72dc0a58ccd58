"""How well one list of losses foretells another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tabnas.types import FloatArray


def pearson(one: ArrayLike, other: ArrayLike) -> float:
    """The correlation of values; 0 where one of them is constant.

    >>> round(pearson([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]), 3)
    0.993
    """
    a, b = (_centred(np.asarray(values, np.float64)) for values in (one, other))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def spearman(one: ArrayLike, other: ArrayLike) -> float:
    """The correlation of ranks, ties sharing theirs.

    >>> spearman([1.0, 2.0, 30.0], [2.0, 4.0, 5.0])
    1.0
    """
    return pearson(_ranks(one), _ranks(other))


def _centred(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean())


def _ranks(values: ArrayLike) -> FloatArray:
    _, place, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    first = np.cumsum(count) - count
    return np.asarray((first + (count - 1) / 2)[place])
