"""Rows into training, validation and test parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.types import FloatArray, IntArray

SHUFFLES = 64


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of each part, rising. No row is in two parts."""

    train: IntArray
    validation: IntArray
    test: IntArray


@dataclass(frozen=True, kw_only=True)
class Shares:
    """How much of the rows goes to validation and to test; the rest is for training."""

    validation: float = 0.2
    test: float = 0.2

    def __post_init__(self) -> None:
        for share in (self.validation, self.test):
            if not isinstance(share, Real) or isinstance(share, bool):
                raise TabNASError(f"a share of the rows must be a number, but {share!r} is none")
        if not (self.validation > 0 and self.test >= 0 and self.validation + self.test < 1):
            raise TabNASError(
                "the shares of validation and test must be positive and leave rows for training, "
                f"got {self.validation} and {self.test}"
            )


def split_stratified(
    labels: NDArray[np.integer], shares: Shares, rng: np.random.Generator
) -> Split:
    """Every class in every part, in proportion: class c goes round the parts in shuffled order.

    A class of one row stays in training; of two, one goes to validation.
    """
    parts: list[list[IntArray]] = [[], [], []]
    for label in np.unique(labels):
        rows = rng.permutation(np.nonzero(labels == label)[0])
        for part, chosen in zip(parts, _cut(rows, shares), strict=True):
            part.append(chosen)
    return _split(*(np.concatenate(part) for part in parts))


def split_random(rows: int, shares: Shares, rng: np.random.Generator) -> Split:
    """Rows at random, for targets without classes."""
    return _split(*_cut(rng.permutation(rows), shares))


def split_by_time(moments: FloatArray | IntArray, shares: Shares) -> Split:
    """The latest rows are for test, those before for validation, the earliest for training.

    Rows of the same moment stay together: parts begin where the moment changes, near their shares.
    """
    order = np.argsort(moments, kind="stable")
    changes = np.nonzero(np.diff(np.asarray(moments)[order]))[0] + 1
    needed = 2 if shares.test else 1
    if len(changes) < needed:
        raise TabNASError(
            f"a split by time must have at least {needed + 1} different moments, one for each "
            f"part, but there are {len(changes) + 1}; split otherwise"
        )
    rows = len(order)
    wanted = [rows * (1 - shares.validation - shares.test), rows * (1 - shares.test)]
    first = int(np.abs(changes[: len(changes) - needed + 1] - wanted[0]).argmin())
    train_end = int(changes[first])
    test_begin = rows
    if shares.test:
        later = changes[first + 1 :]
        test_begin = int(later[np.abs(later - wanted[1]).argmin()])
    return _split(order[:train_end], order[train_end:test_begin], order[test_begin:])


def split_by_group(groups: NDArray[np.integer], shares: Shares, rng: np.random.Generator) -> Split:
    """All rows of a group in one part; of many random orders, the one nearest to the shares.

    `groups` are the numbers of `group_numbers`, which knows what is one group and what is missing.
    """
    if np.asarray(groups).dtype.kind not in "iu":
        raise TabNASError(
            f"groups must be integers, one for each row, got {np.asarray(groups).dtype}; "
            "group_numbers() makes them of a column"
        )
    names, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    parts = [1 - shares.validation - shares.test, shares.validation]
    parts += [shares.test] if shares.test else []
    if len(names) < len(parts):
        raise TabNASError(
            f"a split by groups must have at least {len(parts)} of them, one for each part, "
            f"but there are {len(names)}; group the rows by another column, or split at random"
        )
    wanted = np.cumsum(parts)[:-1] * len(groups)
    best, nearest = np.zeros(len(names), np.int64), np.inf
    for _ in range(SHUFFLES):
        order = rng.permutation(len(names))
        part, distance = _dealt(sizes[order], wanted)
        if distance < nearest:
            nearest = distance
            best[order] = part
    of_row = best[numbers]
    train, validation, test = (np.nonzero(of_row == k)[0] for k in range(3))
    return _split(train, validation, test)


def _dealt(sizes: IntArray, wanted: FloatArray) -> tuple[IntArray, float]:
    """The part of each group in an order, at least one for each, and how far the cuts are off."""
    ends = np.cumsum(sizes)
    cuts: list[int] = []
    off = 0.0
    for k, rows in enumerate(wanted):
        first = cuts[-1] + 1 if cuts else 1
        last = len(sizes) - (len(wanted) - k)
        cut = int(np.clip(1 + np.abs(ends - rows).argmin(), first, last))
        off = max(off, abs(float(ends[cut - 1]) - rows))
        cuts.append(cut)
    bounds = [0, *cuts, len(sizes)]
    part = np.concatenate([np.full(b - a, k) for k, (a, b) in enumerate(pairwise(bounds))])
    return part, off


def _cut(rows: IntArray, shares: Shares) -> tuple[IntArray, IntArray, IntArray]:
    """Test rows first, then validation, then training; each at least one row if there are three.

    Rounding never takes the last row from training.
    """
    count = len(rows)
    least_test = 1 if shares.test and count >= 3 else 0
    least_validation = 1 if count >= 2 else 0
    validation = round(count * shares.validation)
    validation = max(least_validation, min(validation, count - 1 - least_test))
    test = max(least_test, min(round(count * shares.test), count - 1 - validation))
    return rows[test + validation :], rows[test : test + validation], rows[:test]


def _split(train: IntArray, validation: IntArray, test: IntArray) -> Split:
    return Split(np.sort(train), np.sort(validation), np.sort(test))
