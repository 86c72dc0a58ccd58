"""Dates, timestamps and texts by ISO 8601 as seconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._values import RowError, decode_dictionary, is_datetime_type, is_text, to_texts
from tabnas.errors import TabNASError
from tabnas.types import BoolArray, IntArray

DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
HOURS = r"([01]\d|2[0-3])"
ISO_8601 = rf"^{DATE}([ T]{HOURS}:[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]{HOURS}:?[0-5]\d)?)?$"
"""The only texts that are read as dates; in others, months and days can be confused."""
DAY = r"(0?[1-9]|[12]\d|3[01])"
MONTH = (
    r"(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?"
    r"|nov(ember)?|dec(ember)?)\.?"
)
OTHER_DATES = "|".join(
    (
        r"^(\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{1,2}/\d{1,2}/\d{2})([ T].*)?$",
        r"^\d{4}[./]\d{1,2}[./]\d{1,2}([ T].*)?$",
        rf"^(19|20)\d\d-(\d-{DAY}|(0[1-9]|1[0-2])-\d)([ T]\d.*)?$",  # 2024-1-5
        rf"^{DATE}[ T]\d.*$",  # 2024-01-31 10:00:00 UTC
        rf"(?i)^{DAY}(st|nd|rd|th|[.])?[ /-]?{MONTH}[ ,/-]{{0,2}}(\d\d|\d{{4}})([ ,T]+\d.*)?$",
        rf"(?i)^{MONTH}[ -]{DAY}(st|nd|rd|th)?[ ,-]{{1,2}}\d{{4}}([ ,T]+\d.*)?$",
    )
)
"""Texts that people may mean as dates; those that are not by ISO 8601 are not read as dates."""
ZONE = r"[T ].*(Z|[+-]\d{2}:?\d{2})$"
FRACTION = r"\.\d+"


def are_datetimes(values: pa.ChunkedArray) -> bool:
    """Return whether every text is a date or time by ISO 8601."""
    try:
        _parse(values)
    except pa.ArrowInvalid:
        return False
    return True


def find_datetimes(texts: pa.Array) -> BoolArray:
    """Return which texts are dates or times by ISO 8601, of days that exist."""
    found = np.array(pc.match_substring_regex(texts, ISO_8601))
    dates = np.array(texts.filter(pa.array(found)).to_pylist(), dtype="<U10")
    months, days = dates.astype("<U7").astype("datetime64[M]"), [int(date[8:]) for date in dates]
    found[found] = (months.astype("datetime64[D]") + np.array(days, np.int64) - 1).astype(
        "datetime64[M]"
    ) == months
    return found


def find_other_dates(texts: pa.Array) -> BoolArray:
    """Return which texts look like dates of another format, such as 31.12.2024 or 5-Jan-2024.

    Those with a time of day may be by ISO 8601 as well.
    """
    return np.array(pc.match_substring_regex(texts, OTHER_DATES))


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
