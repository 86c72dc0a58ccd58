"""The values of a column as arrays: texts, numbers, truth values, and which are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabnas.data._number_text import NUMBER, POINT, NumberFormat
from tabnas.errors import TabNASError
from tabnas.types import BoolArray, FloatArray, IntArray

POSSIBLE_LABELS = ("-", "none", "None", "NONE")
"""Marks of missing values that may be a class of their own: no complication, a negative result."""
SURE_MARKS = (
    *("", "?", "NA", "na", "N/A", "n/a", "N/a", "NaN", "nan", "NAN"),
    *("null", "Null", "NULL", "<NA>", "#N/A"),
)
MISSING_MARKS = (*SURE_MARKS, *POSSIBLE_LABELS)
"""Texts that mean a missing value, wherever they stand for a whole one."""

TRUTHS = ("false", "0", "true", "1")
UNITS = {"s": 1e0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of times and durations, in a second


class RowError(TabNASError):
    """A value that cannot be, and its row, which people count from 1.

    Whoever looked at some rows of a table only says so with `rename_rows`, and the row of the table
    is named instead.
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(before, row, after)
        self.before, self.row, self.after = before, row, after

    def __str__(self) -> str:
        return f"{self.before} row {self.row + 1} {self.after}"

    def among(self, rows: IntArray | None) -> RowError:
        """The same of the table that the rows were taken from."""
        return self if rows is None else RowError(self.before, int(rows[self.row]), self.after)


@contextmanager
def rename_rows(rows: IntArray | None) -> Iterator[None]:
    """Let errors about some rows of a table name them by `rows`, their numbers in the table."""
    try:
        yield
    except RowError as error:
        raise error.among(rows) from None


def is_text(column: pa.ChunkedArray) -> bool:
    """Whether values are texts, dictionary-encoded or not."""
    kind = value_type(column)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_moment(kind: pa.DataType) -> bool:
    """Whether values are points in time."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_quantity(kind: pa.DataType) -> bool:
    """Whether values are numbers; durations and times of the day are, in seconds."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_time(kind)
    )


def value_type(column: pa.ChunkedArray) -> pa.DataType:
    """The type of the values, whether dictionary-encoded or not."""
    kind = column.type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def refuse_unfit(name: str, column: pa.ChunkedArray) -> None:
    """Refuse what no kind of column can hold: bytes, lists, structures."""
    kind = value_type(column)
    other = pa.types.is_boolean(kind) or pa.types.is_null(kind)
    if not (other or is_text(column) or is_moment(kind) or is_quantity(kind)):
        raise TabNASError(
            f"the column {name!r} holds {kind}, which is no kind of feature; drop it or convert it"
        )


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values without their dictionary."""
    if not pa.types.is_dictionary(column.type):
        return column
    chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, column.type.value_type)


def texts(column: pa.ChunkedArray, *, marks: Sequence[str] = MISSING_MARKS) -> pa.ChunkedArray:
    """Values as trimmed texts; marks of missing values become null.

    The same value gives the same text whatever its type: 1, 1.0 and a decimal 1.00 are "1".
    """
    column = plain(decoded(column))
    written = _written(column) if pa.types.is_floating(column.type) else column.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(written)
    missing = pc.is_in(trimmed, value_set=pa.array(marks))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def coded_texts(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """What `texts` gives, with the work done once a value: texts, and the number of each row's.

    The last text is null, and so are all that mean a missing value; some may be there twice.
    """
    column = column if is_text(column) else texts(column)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(pa.chunked_array([column.combine_chunks()], column.type))
    coded = _widely_indexed(column).unify_dictionaries().combine_chunks()
    found = texts(pa.chunked_array([coded.dictionary])).combine_chunks()
    rows = coded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
    nothing = pa.nulls(1, pa.string())
    return pa.concat_arrays([found, nothing]), np.asarray(rows, np.int32)


def _widely_indexed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same with 32 bits an index: fewer may just bear the dictionary, and no number more."""
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), column.type.value_type))


def _written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as texts, whole ones as integers: Arrow would write 1e+15."""
    whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**63))
    integers = pc.if_else(whole, column, pa.scalar(None, column.type)).cast(pa.int64())
    return pc.coalesce(integers.cast(pa.string()), column.cast(pa.string()))


WRITTEN_NUMBER = r"^(?:\+|(-))?0*(\d+)(?:\.(\d*?)0*)?$"
"""The sign, the digits before the point and those behind it, without zeros that change nothing."""


NOT_PLAIN = r"^\+|^-?(0\d|\d+\.)|^-0$|(?i)^(true|false)$"
"""What texts begin with, or are, that have another form."""


def plain_categories(values: Any) -> Any:
    """Texts with one form for each number and truth value, but it is written.

    >>> plain_categories(pa.array(["007", "1.0", "+2.50", "TRUE", "x1"])).to_pylist()
    ['7', '1', '2.5', 'true', 'x1']
    """
    if not pc.any(pc.match_substring_regex(values, NOT_PLAIN)).as_py():
        return values
    written = pc.replace_substring_regex(values, WRITTEN_NUMBER, r"\1\2.\3")
    written = pc.replace_substring_regex(written, r"^(-?\d+)\.$", r"\1")
    written = pc.replace_substring_regex(written, "^-0$", "0")
    lower = pc.utf8_lower(written)
    return pc.if_else(pc.is_in(lower, value_set=pa.array(["false", "true"])), lower, written)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same, but decimals, and durations and times of the day in seconds, as floats."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        ticks = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        return pc.divide(ticks.cast(pa.float64(), safe=False), UNITS[kind.unit])
    return column


def numbers(name: str, column: pa.ChunkedArray, form: NumberFormat = POINT) -> FloatArray:
    """Values as float64, NaN where missing; texts are parsed. Infinite ones are refused."""
    refuse_unfit(name, column)
    column = plain(decoded(column))
    if is_text(column):
        column = _parsed(name, texts(column), form)
    if is_moment(column.type):
        raise TabNASError(f"the column {name!r} must hold numbers, but it holds dates")
    # a copy of its own, for callers fill in what is missing
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


def _parsed(name: str, values: pa.ChunkedArray, form: NumberFormat) -> pa.ChunkedArray:
    if form.decimal == ".":
        with suppress(pa.ArrowInvalid):
            return values.cast(pa.float64())
    written, wrong = form.plain(values)
    if wrong.any():
        row = int(wrong.argmax())
        # where the column is read otherwise than by default, say how
        unit = f" and the unit {form.unit!r}" if form.unit else ""
        how = f" with the decimal mark {form.decimal!r}{unit}" if form != POINT else ""
        raise RowError(
            f"the column {name!r} must hold numbers{how}, but",
            row,
            f"is {values[row].as_py()!r}; replace it or leave it empty",
        )
    return written.cast(pa.float64())


def no_numbers(values: pa.ChunkedArray) -> BoolArray:
    """Which texts are present and no numbers."""
    matches = pc.match_substring_regex(values, NUMBER).fill_null(True)
    return ~np.array(matches.to_numpy(zero_copy_only=False), dtype=np.bool_)


def are_numbers(values: pa.ChunkedArray) -> bool:
    """Whether every text is a number. Trying to parse them takes far longer, if they are not."""
    return not no_numbers(values).any()


def truths(name: str, column: pa.ChunkedArray) -> FloatArray:
    """Values as 0 and 1, NaN where missing: booleans, 0 and 1, or the texts of either."""
    refuse_unfit(name, column)
    if not pa.types.is_boolean(column.type):
        values = texts(column)
        codes = pc.index_in(plain_categories(values), value_set=pa.array(TRUTHS))
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


def absent(column: pa.ChunkedArray, *, marks: Sequence[str] = MISSING_MARKS) -> BoolArray:
    """Which values are missing: null, NaN, or a text that means it."""
    values = texts(column, marks=marks) if is_text(column) else decoded(column)
    return np.array(pc.is_null(values, nan_is_null=True).to_numpy(), dtype=np.bool_)


def distinct(column: Any) -> int:
    """The number of different values, missing not counted."""
    return int(pc.count_distinct(column, mode="only_valid").as_py())
