"""Rows into training, validation and test parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.types import FloatArray, IntArray


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
        if not (self.validation > 0 and self.test >= 0 and self.validation + self.test < 1):
            raise TabnasError(
                "the shares of validation and test must be positive and leave rows for training, "
                f"however {self.validation} and {self.test} were given"
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
    """The latest rows are for test, those before for validation, the earliest for training."""
    order = np.argsort(moments, kind="stable")
    return _split(*_cut(order[::-1], shares))


def split_by_group(groups: NDArray[np.integer], shares: Shares, rng: np.random.Generator) -> Split:
    """All rows of a group in the same part; parts are filled group by group, at random."""
    names, sizes = np.unique(groups, return_counts=True)
    if len(names) < 3:
        raise TabnasError(
            "a split by groups must have at least 3 of them, one for each part, however there are "
            f"{len(names)}; group the rows by another column, or split at random"
        )
    order = rng.permutation(len(names))
    filled = np.cumsum(sizes[order]) / len(groups)
    # where a group ends decides; each part gets one at least
    test_end = max(1, int(np.searchsorted(filled, shares.test, "right"))) if shares.test else 0
    validation_end = max(
        test_end + 1, int(np.searchsorted(filled, shares.test + shares.validation, "right"))
    )
    validation_end = min(validation_end, len(names) - 1)
    test_end = min(test_end, validation_end - 1)
    part = np.empty(len(names), dtype=np.int64)
    part[order] = np.digitize(np.arange(len(names)), [test_end, validation_end])
    of_row = part[np.searchsorted(names, groups)]
    test, validation, train = (np.nonzero(of_row == k)[0] for k in range(3))
    return _split(train, validation, test)


def _cut(rows: IntArray, shares: Shares) -> tuple[IntArray, IntArray, IntArray]:
    """Test rows first, then validation, then training; each at least one row if there are three."""
    test = _share(len(rows), shares.test, least=1 if shares.test and len(rows) >= 3 else 0)
    validation = _share(len(rows), shares.validation, least=1 if len(rows) >= 2 else 0)
    return rows[test + validation :], rows[test : test + validation], rows[:test]


def _share(rows: int, share: float, *, least: int) -> int:
    return max(least, round(rows * share)) if rows > 1 else 0


def _split(train: IntArray, validation: IntArray, test: IntArray) -> Split:
    return Split(np.sort(train), np.sort(validation), np.sort(test))
