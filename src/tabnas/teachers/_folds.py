"""Which rows each fit of a teacher learns from, and which it answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget, Target
from tabnas.types import FloatArray, IntArray

NO_FOLD = -1
"""The fold of rows that no fit learns from."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit on all rows but those of one or two folds, which it answers."""

    left_out: tuple[int, ...]  # the folds
    train: IntArray
    answered: IntArray  # the rows of these folds, then all rows of no fold

    @property
    def name(self) -> str:
        """The name of the fit, for people and checkpoints.

        >>> Fit((0, 2), np.arange(2), np.arange(2)).name
        'without folds 1 and 3'
        """
        numbers = " and ".join(str(fold + 1) for fold in self.left_out)
        return f"without {'fold' if len(self.left_out) == 1 else 'folds'} {numbers}"


def make_fits(folds: IntArray, *, nested: bool) -> list[Fit]:
    """Return one fit for each fold, and if nested one for each pair of folds.

    With the fits that leave out a fold, every row is answered by a model that did not learn from
    it. A student that is validated on fold k must not learn from answers of models that have seen
    its labels: with the fits that leave out k and another fold, the rows of all other folds are
    answered without them.

    >>> [fit.left_out for fit in make_fits(np.array([0, 1, 2, 0]), nested=True)]
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    numbers = [int(fold) for fold in np.unique(folds[folds != NO_FOLD])]
    left_out: list[tuple[int, ...]] = [(fold,) for fold in numbers]
    if nested:
        left_out += combinations(numbers, 2)
    new = np.nonzero(folds == NO_FOLD)[0]
    fits = []
    for those in left_out:
        train = np.nonzero(~np.isin(folds, (NO_FOLD, *those)))[0]
        answered = [np.nonzero(folds == fold)[0] for fold in those]
        fits.append(Fit(those, train, np.concatenate([*answered, new])))
    return fits


def assign_folds(
    count: int,
    target: Target,
    y: NDArray[Any],
    rng: np.random.Generator,
    *,
    groups: IntArray | None = None,
    times: FloatArray | None = None,
) -> IntArray:
    """Return the fold of each row, from 0.

    Classes are spread evenly. Rows of a group are in one fold. With `times`, a fold is an interval
    of time, so that a row is not answered by a model that knows the rows right before and after it.
    """
    order = rng.permutation(len(y))
    if groups is not None:
        return assign_groups(groups, count, rng)
    if times is not None:
        fold = np.empty(len(y), np.int64)
        fold[np.argsort(times, kind="stable")] = np.arange(len(y)) * count // max(1, len(y))
        return fold
    if isinstance(target, ClassTarget):
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), np.int64)
    fold[order] = np.arange(len(y)) % count
    return fold


def assign_groups(groups: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row; the largest group goes first, to the fold with fewest rows."""
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    fold = np.empty(len(sizes), np.int64)
    filled = np.zeros(count, np.int64)
    shuffled = rng.permutation(len(sizes))
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[group] = filled.argmin()
        filled[fold[group]] += sizes[group]
    return np.asarray(fold[numbers])
