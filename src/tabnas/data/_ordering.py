"""Columns that order or group rows, for splits that must not mix them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._kinds import Kind, find_kind
from tabnas.data._moments import seconds
from tabnas.data._values import numbers
from tabnas.errors import TabnasError
from tabnas.types import FloatArray, IntArray


def moments(name: str, column: pa.ChunkedArray) -> FloatArray:
    """When each row was, as numbers that rise with time: dates, times, or numbers such as years.

    >>> moments("day", pa.chunked_array([["2024-02-01", "2024-01-31"]])).tolist()
    [1706745600.0, 1706659200.0]
    """
    kind = find_kind(name, column)
    if kind is Kind.DATETIME:
        since, missing = seconds(name, column)
        values = np.where(missing, np.nan, since)
    elif kind is Kind.NUMERIC:
        values = numbers(name, column)
    else:
        raise TabnasError(
            f"the column {name!r} must tell when each row was, by dates, times or numbers, however "
            f"it is {kind}"
        )
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise TabnasError(
            f"the column {name!r} must tell when each row was, however row {row + 1} is missing"
        )
    return np.asarray(values, np.float64)


def group_numbers(name: str, column: pa.ChunkedArray) -> IntArray:
    """A number for the group of each row; rows of no group are refused.

    >>> group_numbers("house", pa.chunked_array([["b", "a", "b"]])).tolist()
    [0, 1, 0]
    """
    if column.null_count:
        row = int(np.asarray(column.is_null().to_numpy()).argmax())
        raise TabnasError(
            f"the column {name!r} must name a group for each row, however row {row + 1} is missing"
        )
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    return np.asarray(column.combine_chunks().indices.to_numpy(), np.int64)
