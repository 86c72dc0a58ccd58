"""Columns that order or group rows, for splits that must not mix them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tabnas.data._kinds import Kind, find_kind
from tabnas.data._moments import seconds
from tabnas.data._values import (
    RowError,
    are_numbers,
    coded_texts,
    is_text,
    numbers,
    plain_categories,
    refuse_unfit,
    texts,
)
from tabnas.errors import TabNASError
from tabnas.types import FloatArray, IntArray

MISSING = -1


def moments(name: str, column: pa.ChunkedArray) -> FloatArray:
    """When each row was, as numbers that rise with time: dates, times, or numbers such as years.

    >>> moments("day", pa.chunked_array([["2024-02-01", "2024-01-31"]])).tolist()
    [1706745600.0, 1706659200.0]
    """
    # codes with leading zeros have an order, too
    numeric = is_text(column) and are_numbers(texts(column).unique())
    kind = Kind.NUMERIC if numeric else find_kind(name, column)
    if kind is Kind.DATETIME:
        since, missing = seconds(name, column)
        values = np.where(missing, np.nan, since)
    elif kind is Kind.NUMERIC:
        values = numbers(name, column)
    else:
        raise TabNASError(
            f"the column {name!r} must tell when each row was, by dates, times or numbers, but "
            f"it is {kind}"
        )
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise TabNASError(
            f"the column {name!r} must tell when each row was, but row {row + 1} is missing"
        )
    return np.asarray(values, np.float64)


def group_numbers(name: str, column: pa.ChunkedArray) -> IntArray:
    """Return a number for the group of each row, by first appearance.

    Values are compared as categories are: " a" and "a" are one group, and so are 1, 1.0 and 01.
    Rows whose group is missing are refused: they may belong to any group, so wherever they went,
    rows of one group could be in two parts.

    >>> group_numbers("house", pa.chunked_array([["b", "a", " b"]])).tolist()
    [0, 1, 0]
    """
    refuse_unfit(name, column)
    values, rows = coded_texts(column)
    coded = plain_categories(values).dictionary_encode()
    number = coded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
    groups = np.asarray(number[rows], np.int64)
    missing = groups == MISSING
    if missing.any():
        raise RowError(
            f"the column {name!r} must name a group for each row, but",
            int(missing.argmax()),
            "is missing; fill it in, with a name of its own if the row belongs to no group, or "
            "leave the row out",
        )
    return groups
