"""Split rows into training, validation and test parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data._datetimes import to_seconds
from tabnas.data._kinds import Kind, infer_kind
from tabnas.data._values import (
    RowError,
    are_numbers,
    check_column_type,
    factorize_texts,
    is_text,
    normalize_categories,
    to_numbers,
    to_texts,
)
from tabnas.errors import TabNASError
from tabnas.shares import Shares
from tabnas.types import FloatArray, IntArray

SHUFFLES = 64
MISSING = -1


@dataclass(frozen=True, eq=False)
class Split:
    """The row numbers of each part, ascending. No row is in two parts."""

    train: IntArray
    validation: IntArray
    test: IntArray


def split_stratified(
    labels: NDArray[np.integer], shares: Shares, rng: np.random.Generator
) -> Split:
    """Split so that every part has every class in proportion.

    A class of one row stays in training; of two, one goes to validation.
    """
    parts: list[list[IntArray]] = [[], [], []]
    for label in np.unique(labels):
        rows = rng.permutation(np.nonzero(labels == label)[0])
        for part, chosen in zip(parts, _cut(rows, shares), strict=True):
            part.append(chosen)
    return _make_split(*(np.concatenate(part) for part in parts))


def split_random(rows: int, shares: Shares, rng: np.random.Generator) -> Split:
    """Split at random, for targets without classes."""
    return _make_split(*_cut(rng.permutation(rows), shares))


def split_by_time(times: FloatArray | IntArray, shares: Shares) -> Split:
    """Split by time: the latest rows are for test, those before for validation, then training.

    Rows of the same time stay together: parts begin where the time changes, near their shares.
    """
    order = np.argsort(times, kind="stable")
    changes = np.nonzero(np.diff(np.asarray(times)[order]))[0] + 1
    needed = 2 if shares.test else 1
    if len(changes) < needed:
        raise TabNASError(
            f"a split by time must have at least {needed + 1} different times, one for each "
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
    return _make_split(order[:train_end], order[train_end:test_begin], order[test_begin:])


def split_by_group(groups: NDArray[np.integer], shares: Shares, rng: np.random.Generator) -> Split:
    """Split so that a group is in one part; of many random orders, take the nearest to the shares.

    `groups` are the results of `to_group_ids`, which also checks for missing groups.
    """
    if np.asarray(groups).dtype.kind not in "iu":
        raise TabNASError(
            f"groups must be integers, one for each row, got {np.asarray(groups).dtype}; "
            "to_group_ids() makes them of a column"
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
        part, distance = _assign_groups(sizes[order], wanted)
        if distance < nearest:
            nearest = distance
            best[order] = part
    of_row = best[numbers]
    train, validation, test = (np.nonzero(of_row == k)[0] for k in range(3))
    return _make_split(train, validation, test)


def _assign_groups(sizes: IntArray, wanted: FloatArray) -> tuple[IntArray, float]:
    """Return the part of each group in an order, and how far the cuts are from the shares."""
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
    """Cut rows into training, validation and test; each gets a row if there are three.

    Rounding never takes the last row from training.
    """
    count = len(rows)
    min_test = 1 if shares.test and count >= 3 else 0
    min_validation = 1 if count >= 2 else 0
    validation = round(count * shares.validation)
    validation = max(min_validation, min(validation, count - 1 - min_test))
    test = max(min_test, min(round(count * shares.test), count - 1 - validation))
    return rows[test + validation :], rows[test : test + validation], rows[:test]


def _make_split(train: IntArray, validation: IntArray, test: IntArray) -> Split:
    return Split(np.sort(train), np.sort(validation), np.sort(test))


# --- columns to split by --------------------------------------------------------------------------


def to_times(name: str, column: pa.ChunkedArray) -> FloatArray:
    """Return the time of each row as a number, from dates, times, or numbers such as years.

    >>> to_times("day", pa.chunked_array([["2024-02-01", "2024-01-31"]])).tolist()
    [1706745600.0, 1706659200.0]
    """
    # codes with leading zeros also have an order
    numeric = is_text(column) and are_numbers(to_texts(column).unique())
    kind = Kind.NUMERIC if numeric else infer_kind(name, column)
    if kind is Kind.DATETIME:
        since, missing = to_seconds(name, column)
        values = np.where(missing, np.nan, since)
    elif kind is Kind.NUMERIC:
        values = to_numbers(name, column)
    else:
        raise TabNASError(
            f"the column {name!r} must tell when each row was, by dates, times or numbers, but "
            f"it is {kind}"
        )
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise RowError(f"the column {name!r} must tell when each row was, but", row, "is missing")
    return np.asarray(values, np.float64)


def to_group_ids(name: str, column: pa.ChunkedArray) -> IntArray:
    """Return a number for the group of each row, by first appearance.

    Values are compared as categories are: " a" and "a" are one group, and so are 1, 1.0 and 01.
    Rows whose group is missing are refused: they may belong to any group, so wherever they went,
    rows of one group could be in two parts.

    >>> to_group_ids("house", pa.chunked_array([["b", "a", " b"]])).tolist()
    [0, 1, 0]
    """
    check_column_type(name, column)
    values, rows = factorize_texts(column)
    coded = normalize_categories(values).dictionary_encode()
    number = coded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
    groups = np.asarray(number[rows], np.int64)
    missing = groups == MISSING
    if missing.any():
        raise RowError(
            f"the column {name!r} must name a group for each row, but",
            int(missing.argmax()),
            "is missing; fill it in, with a unique name if the row belongs to no group, or "
            "leave the row out",
        )
    # a column of categories has them in an order of its own, which must make no difference
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
