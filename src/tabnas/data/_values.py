"""The values of a column as arrays: texts, numbers, booleans, and which are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabnas.data._number_text import DEFAULT_NUMBER_FORMAT, NUMBER, NumberFormat
from tabnas.errors import TabNASError
from tabnas.types import BoolArray, FloatArray, IntArray

POSSIBLE_LABELS = ("-", "none", "None", "NONE")
"""Texts that mean a missing value, but may also be a class: no complication, a negative result."""
CERTAIN_NA_VALUES = (
    *("", "?", "NA", "na", "N/A", "n/a", "N/a", "NaN", "nan", "NAN"),
    *("null", "Null", "NULL", "<NA>", "#N/A"),
)
NA_VALUES = (*CERTAIN_NA_VALUES, *POSSIBLE_LABELS)
"""Texts that mean a missing value."""

TRUTHS = ("false", "0", "true", "1")
UNITS = {"s": 1e0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of times and durations, in a second
TIME_OF_DAY = (
    r"^(?P<hours>[01]?\d|2[0-3]):(?P<minutes>[0-5]\d)"
    r"(?::(?P<seconds>[0-5]\d)(?P<fraction>\.\d+)?)?$"
)
MIXED_SHARE = 0.9
"""Texts of which at least this share is of one kind, such as numbers, are meant as that kind."""


class RowError(TabNASError):
    """A value is wrong; the message names its row, counted from 1.

    `renumber_rows` translates the row if only some rows of a table were looked at.
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(before, row, after)
        self.before, self.row, self.after = before, row, after

    def __str__(self) -> str:
        return f"{self.before} row {self.row + 1} {self.after}"

    def remap(self, rows: IntArray | None) -> RowError:
        """Return the error for the table that the rows were taken from."""
        return self if rows is None else RowError(self.before, int(rows[self.row]), self.after)


@contextmanager
def renumber_rows(rows: IntArray | None) -> Iterator[None]:
    """Let errors about selected rows name them by `rows`, their numbers in the table."""
    try:
        yield
    except RowError as error:
        raise error.remap(rows) from None


def is_text(column: pa.ChunkedArray) -> bool:
    """Return whether values are texts, dictionary-encoded or not."""
    kind = value_type(column)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_datetime_type(kind: pa.DataType) -> bool:
    """Return whether values are points in time."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_numeric_type(kind: pa.DataType) -> bool:
    """Return whether values are numbers; durations and times of the day are, in seconds."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_time(kind)
    )


def value_type(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of the values, whether dictionary-encoded or not."""
    kind = column.type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def check_column_type(name: str, column: pa.ChunkedArray) -> None:
    """Raise an error for types that cannot be a feature: bytes, lists, structures."""
    kind = value_type(column)
    other = pa.types.is_boolean(kind) or pa.types.is_null(kind)
    if not (other or is_text(column) or is_datetime_type(kind) or is_numeric_type(kind)):
        raise TabNASError(
            f"the column {name!r} holds {kind}, which is not a kind of feature; drop it or "
            "convert it"
        )


def decode_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a dictionary-encoded column, and others as they are."""
    if not pa.types.is_dictionary(column.type):
        return column
    chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, column.type.value_type)


def to_texts(column: pa.ChunkedArray, *, na_values: Sequence[str] = NA_VALUES) -> pa.ChunkedArray:
    """Return values as trimmed texts; those in `na_values` become null.

    The same value gives the same text whatever its type: 1, 1.0 and a decimal 1.00 are "1".
    """
    column = to_plain_numbers(decode_dictionary(column))
    written = (
        _format_floats(column) if pa.types.is_floating(column.type) else column.cast(pa.string())
    )
    trimmed = pc.utf8_trim_whitespace(written)
    missing = pc.is_in(trimmed, value_set=pa.array(na_values))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def factorize_texts(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return texts as `to_texts` gives them, and for each row the index of its text.

    The last text is null, as are all that mean a missing value. A text may be there twice.
    """
    column = column if is_text(column) else to_texts(column)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(pa.chunked_array([column.combine_chunks()], column.type))
    coded = _widen_indices(column).unify_dictionaries().combine_chunks()
    texts = to_texts(pa.chunked_array([coded.dictionary])).combine_chunks()
    rows = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    nothing = pa.nulls(1, pa.string())
    return pa.concat_arrays([texts, nothing]), np.asarray(rows, np.int32)


def _widen_indices(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with indices of 32 bits, since a merged dictionary may need them."""
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), column.type.value_type))


def _format_floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return floats as texts, integral ones without a point: Arrow would write 1e+15."""
    is_integral = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**63))
    integers = pc.if_else(is_integral, column, pa.scalar(None, column.type)).cast(pa.int64())
    return pc.coalesce(integers.cast(pa.string()), column.cast(pa.string()))


WRITTEN_NUMBER = r"^(?:\+|(-))?0*(\d+)(?:\.(\d*?)0*)?$"
"""The sign, the digits before the point and those behind it, without redundant zeros."""


NOT_PLAIN = r"^\+|^-?(0\d|\d+\.)|^-0$|(?i)^(true|false)$"
"""Matches texts that are not in the normal form."""


def normalize_categories(values: Any) -> Any:
    """Return texts in one form for each number and boolean, however it is written.

    >>> normalize_categories(pa.array(["007", "1.0", "+2.50", "TRUE", "x1"])).to_pylist()
    ['7', '1', '2.5', 'true', 'x1']
    """
    if not pc.any(pc.match_substring_regex(values, NOT_PLAIN)).as_py():
        return values
    written = pc.replace_substring_regex(values, WRITTEN_NUMBER, r"\1\2.\3")
    written = pc.replace_substring_regex(written, r"^(-?\d+)\.$", r"\1")
    written = pc.replace_substring_regex(written, "^-0$", "0")
    lower = pc.utf8_lower(written)
    return pc.if_else(pc.is_in(lower, value_set=pa.array(["false", "true"])), lower, written)


def to_plain_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return decimals as floats, and durations and times of the day as seconds."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        ticks = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        return pc.divide(ticks.cast(pa.float64(), safe=False), UNITS[kind.unit])
    return column


def to_numbers(
    name: str, column: pa.ChunkedArray, number_format: NumberFormat = DEFAULT_NUMBER_FORMAT
) -> FloatArray:
    """Return values as float64, NaN where missing; texts are parsed, infinite values refused."""
    check_column_type(name, column)
    column = to_plain_numbers(decode_dictionary(column))
    if is_text(column):
        column = _parse(name, to_texts(column), number_format)
    if is_datetime_type(column.type):
        raise TabNASError(f"the column {name!r} must hold numbers, but it holds dates")
    # a copy, since callers fill in missing values
    array = np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    infinite = np.isinf(array)
    if infinite.any():
        row = int(infinite.argmax())
        raise RowError(
            f"the column {name!r} must be finite, but",
            row,
            f"is {array[row]} or beyond the range of floats; replace it or leave it empty",
        )
    return array


def _parse(name: str, values: pa.ChunkedArray, number_format: NumberFormat) -> pa.ChunkedArray:
    if number_format.decimal == ".":
        with suppress(pa.ArrowInvalid):
            return values.cast(pa.float64())
    written, wrong = number_format.normalize(values)
    if wrong.any():
        if not number_format.unit and (seconds := _parse_times(name, values)) is not None:
            return seconds
        row = int(wrong.argmax())
        # say how the column is read if it is not the default
        unit = f" and the unit {number_format.unit!r}" if number_format.unit else ""
        how = (
            f" with the decimal mark {number_format.decimal!r}{unit}"
            if number_format != DEFAULT_NUMBER_FORMAT
            else ""
        )
        raise RowError(
            f"the column {name!r} must hold numbers{how}, but",
            row,
            f"is {values[row].as_py()!r}; replace it or leave it empty",
        )
    return written.cast(pa.float64())


def _parse_times(name: str, values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return times of day as seconds; None if too many texts are something else."""
    wrong = ~find_times(values)
    if not wrong.any():
        return convert_times(values)
    n_texts = len(values) - values.null_count
    if n_texts - int(wrong.sum()) < MIXED_SHARE * n_texts:
        return None
    row = int(wrong.argmax())
    raise RowError(
        f"the column {name!r} must hold times of day, but",
        row,
        f"is {values[row].as_py()!r}; write it like 08:15 or leave it empty",
    )


def find_times(values: Any) -> BoolArray:
    """Return which texts are times of day, such as 08:15 or 8:15:30.5, or are missing."""
    matches = pc.match_substring_regex(values, TIME_OF_DAY).fill_null(True)
    return np.array(matches.to_numpy(zero_copy_only=False), dtype=np.bool_)


def convert_times(values: Any) -> Any:
    """Return times of day as seconds since midnight, as `to_plain_numbers` returns Arrow's times.

    >>> convert_times(pa.array(["08:15", "8:15:30.5", None])).to_pylist()
    [29700.0, 29730.5, None]
    """
    parts = pc.extract_regex(values, TIME_OF_DAY)
    hours, minutes, seconds = (
        pc.replace_substring_regex(pc.struct_field(parts, part), "^$", "0").cast(pa.int64())
        for part in ("hours", "minutes", "seconds")
    )
    total = pc.add(pc.multiply(pc.add(pc.multiply(hours, 60), minutes), 60), seconds)
    # as a text, so that fractions are rounded once
    fraction = pc.struct_field(parts, "fraction")
    return pc.binary_join_element_wise(total.cast(pa.string()), fraction, "").cast(pa.float64())


def find_non_numbers(values: pa.ChunkedArray) -> BoolArray:
    """Return which texts are neither missing nor numbers."""
    matches = pc.match_substring_regex(values, NUMBER).fill_null(True)
    return ~np.array(matches.to_numpy(zero_copy_only=False), dtype=np.bool_)


def are_numbers(values: pa.ChunkedArray) -> bool:
    """Return whether every text is a number; trying to parse them would take far longer."""
    return not find_non_numbers(values).any()


def to_booleans(name: str, column: pa.ChunkedArray) -> FloatArray:
    """Return booleans, 0 and 1, or the texts of either as 0.0 and 1.0, NaN where missing."""
    check_column_type(name, column)
    if not pa.types.is_boolean(column.type):
        values = to_texts(column)
        codes = pc.index_in(normalize_categories(values), value_set=pa.array(TRUTHS))
        wrong = np.array(pc.and_not(codes.is_null(), values.is_null()).to_numpy(), dtype=np.bool_)
        if wrong.any():
            row = int(wrong.argmax())
            raise RowError(
                f"the column {name!r} must hold true and false (or 1 and 0), but",
                row,
                f"is {values[row].as_py()!r}; replace it or leave it empty",
            )
        column = pc.greater_equal(codes, 2)
    return np.array(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def is_missing(column: pa.ChunkedArray, *, na_values: Sequence[str] = NA_VALUES) -> BoolArray:
    """Return which values are missing: null, NaN, or a mark such as "?"."""
    values = to_texts(column, na_values=na_values) if is_text(column) else decode_dictionary(column)
    return np.array(pc.is_null(values, nan_is_null=True).to_numpy(), dtype=np.bool_)


def count_distinct(column: Any) -> int:
    """Return the number of different values, without missing ones."""
    return int(pc.count_distinct(column, mode="only_valid").as_py())
