"""The values of a column as arrays: numbers, texts, moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._readers import MISSING_MARKS
from tabnas.errors import TabnasError
from tabnas.types import BoolArray, FloatArray, IntArray

MONTH_DAY = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
"""ISO 8601 dates and times, the only texts that are taken for moments."""


def is_text(column: pa.ChunkedArray) -> bool:
    """Whether values are texts, dictionary-encoded or not."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as trimmed texts; marks of missing values become null."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type) or not is_text(column):
        column = column.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
    missing = pc.is_in(trimmed, value_set=pa.array(MISSING_MARKS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def numbers(name: str, column: pa.ChunkedArray) -> FloatArray:
    """Values as float64, NaN where missing; texts are parsed. Infinite ones are refused."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(column):
        column = column.cast(kind.value_type)
    if is_text(column):
        column = _parsed(name, texts(column))
    if pa.types.is_temporal(column.type):
        raise TabnasError(f"the column {name!r} must hold numbers, however it holds dates")
    try:
        array = column.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TabnasError(
            f"the column {name!r} must hold numbers, however it holds {kind}"
        ) from None
    array = np.array(array, dtype=np.float64)
    if np.isinf(array).any():
        row = int(np.isinf(array).argmax())
        raise TabnasError(
            f"the column {name!r} must be finite, however row {row + 1} is {array[row]}; "
            "replace it or leave it empty"
        )
    return array


def _parsed(name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        for row, value in enumerate(values.to_pylist()):
            if value is not None and not is_number(value):
                raise TabnasError(
                    f"the column {name!r} must hold numbers, however row {row + 1} is {value!r}"
                ) from None
        raise


def is_number(text: str) -> bool:
    """Whether Arrow reads the text as a number."""
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def are_numbers(values: pa.ChunkedArray) -> bool:
    """Whether every text is a number."""
    try:
        values.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def are_moments(values: pa.ChunkedArray) -> bool:
    """Whether every text is a date or time by ISO 8601."""
    matches = pc.match_substring_regex(values, MONTH_DAY)
    if not pc.all(matches, min_count=0).as_py():
        return False
    try:
        _to_seconds(values)
    except pa.ArrowInvalid:
        return False
    return True


def seconds(name: str, column: pa.ChunkedArray) -> tuple[IntArray, BoolArray]:
    """Values as seconds since 1970 (UTC), and which are missing, where the seconds are 0."""
    if is_text(column):
        column = texts(column)
    try:
        moments = _to_seconds(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TabnasError(
            f"the column {name!r} must hold dates or times (ISO 8601), however it holds "
            f"{_example(column)}"
        ) from None
    missing = np.array(moments.is_null().to_numpy(), dtype=np.bool_)
    return np.array(moments.fill_null(0).to_numpy(), dtype=np.int64), missing


def _to_seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        aware = pc.match_substring_regex(column, r"(Z|[+-]\d{2}:?\d{2})$")
        if pc.any(aware).as_py():
            column = column.cast(pa.timestamp("s", "UTC"))
        else:
            column = column.cast(pa.timestamp("us"))
    elif not pa.types.is_temporal(column.type):
        raise pa.ArrowNotImplementedError
    return column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())


def _example(column: pa.ChunkedArray) -> str:
    for value in column.to_pylist():
        if value is not None:
            return repr(value)
    return str(column.type)


def distinct(column: Any) -> int:
    """The number of different values, missing not counted."""
    return int(pc.count_distinct(column, mode="only_valid").as_py())
