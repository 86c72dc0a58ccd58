"""Dates, timestamps and texts by ISO 8601 as seconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._values import RowError, decode_dictionary, is_datetime_type, is_text, to_texts
from tabnas.errors import TabNASError
from tabnas.types import BoolArray, IntArray

ISO_8601 = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
"""The only texts that are read as dates; in others, months and days can be confused."""
ZONE = r"[T ].*(Z|[+-]\d{2}:?\d{2})$"
FRACTION = r"\.\d+"


def are_datetimes(values: pa.ChunkedArray) -> bool:
    """Return whether every text is a date or time by ISO 8601."""
    try:
        _parse(values)
    except pa.ArrowInvalid:
        return False
    return True


def to_seconds(name: str, column: pa.ChunkedArray) -> tuple[IntArray, BoolArray]:
    """Return values as seconds since 1970 (UTC), 0 where missing, and which are missing."""
    column = decode_dictionary(column)
    if is_text(column):
        values = to_texts(column)
        try:
            column = _parse(values)
        except pa.ArrowInvalid:
            row = _first_unparsed(values)
            raise RowError(
                f"the column {name!r} must hold dates or times (ISO 8601), but",
                row,
                f"is {values[row].as_py()!r}; write it like 2024-01-31 or leave it empty",
            ) from None
    elif not (is_datetime_type(column.type) or pa.types.is_null(column.type)):
        raise TabNASError(
            f"the column {name!r} must hold dates or times, but it holds {column.type}"
        )
    seconds = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    missing = np.array(seconds.is_null().to_numpy(), dtype=np.bool_)
    return np.array(seconds.fill_null(0).to_numpy(), dtype=np.int64), missing


def _parse(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Parse texts as timestamps; without a zone they are UTC, so that rows stay independent.

    Fractions of a second are cut off.
    """
    if not pc.all(pc.match_substring_regex(values, ISO_8601), min_count=0).as_py():
        raise pa.ArrowInvalid("not by ISO 8601")
    values = pc.replace_substring_regex(values, FRACTION, "")
    zoned = pc.match_substring_regex(values, ZONE)
    nothing = pa.scalar(None, pa.string())
    aware = pc.if_else(zoned, values, nothing).cast(pa.timestamp("s", "UTC"))
    naive = pc.if_else(zoned, nothing, values).cast(pa.timestamp("s"))
    return pc.coalesce(naive, aware.cast(pa.timestamp("s")))


def _first_unparsed(values: pa.ChunkedArray) -> int:
    """Return the row of the first text that is not a date, by bisection."""
    good, bad = 0, len(values)  # the prefix of length `good` parses, that of length `bad` does not
    while bad - good > 1:
        middle = (good + bad) // 2
        if are_datetimes(values.slice(good, middle - good)):
            good = middle
        else:
            bad = middle
    return good
