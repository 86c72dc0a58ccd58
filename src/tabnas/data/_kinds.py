"""Infer the kind of a column, and how its numbers are written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._datetimes import are_datetimes, find_datetimes, find_other_dates
from tabnas.data._number_columns import find_number_format
from tabnas.data._number_text import (
    DEFAULT_DECIMALS,
    DEFAULT_NUMBER_FORMAT,
    DecimalContext,
    NumberFormat,
    are_number_like,
)
from tabnas.data._values import (
    MIXED_SHARE,
    RowError,
    are_numbers,
    check_column_type,
    count_distinct,
    find_times,
    is_datetime_type,
    is_numeric_type,
    is_text,
    normalize_categories,
    to_plain_numbers,
    to_texts,
)
from tabnas.types import BoolArray, IntArray


class Kind(StrEnum):
    """How the values of a column are encoded."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    HASHED = "hashed"  # categories without a vocabulary; never inferred, only declared
    CONSTANT = "constant"  # dropped


@dataclass(frozen=True)
class ColumnSchema:
    """The kind of a column, and how its numbers are written."""

    kind: Kind
    number_format: NumberFormat = DEFAULT_NUMBER_FORMAT  # of numbers that are texts
    notes: tuple[str, ...] = ()  # what people should know of it


def infer_kind(name: str, column: pa.ChunkedArray) -> Kind:
    """Return the kind of a column, from its type and, for texts, its values."""
    return _infer_undeclared(name, column).kind


def _infer_undeclared(
    name: str, column: pa.ChunkedArray, decimals: DecimalContext = DEFAULT_DECIMALS
) -> ColumnSchema:
    """Infer the kind of a column and, if it has numbers as texts, how they are written."""
    check_column_type(name, column)
    categories = pa.types.is_dictionary(column.type)
    values = to_texts(column) if categories or is_text(column) else to_plain_numbers(column)
    if is_constant(values):
        return ColumnSchema(Kind.CONSTANT)
    if categories:  # a frame's own categories stay categories, even if they look like numbers
        return ColumnSchema(Kind.CATEGORICAL)
    if is_text(column):
        counted = pc.value_counts(values.drop_null())
        counts = counted.field("counts").to_numpy()
        return infer_text_schema(name, counted.field("values"), counts, decimals, rows=values)
    if is_datetime_type(column.type):
        return ColumnSchema(Kind.DATETIME)
    if is_numeric_type(column.type):
        return ColumnSchema(Kind.NUMERIC, decimals.number_format(name))
    return ColumnSchema(Kind.BOOLEAN)


def infer_schema(
    name: str, column: pa.ChunkedArray, decimals: DecimalContext, declared: Kind | None
) -> ColumnSchema:
    """Infer the kind of a column, unless the user has declared it, and its number format."""
    if declared is None:
        return _infer_undeclared(name, column, decimals)
    if declared is not Kind.NUMERIC:
        return ColumnSchema(declared)
    if not is_text(column):
        return ColumnSchema(declared, decimals.number_format(name))
    values = to_texts(column)
    texts = values.unique().drop_null()
    if not are_number_like(texts).all():  # parsing them later names the row
        return ColumnSchema(declared, decimals.number_format(name))
    return ColumnSchema(declared, *find_number_format(name, texts, decimals, rows=values))


def is_constant(values: pa.ChunkedArray) -> bool:
    """Return whether all values are missing, or all are the same and none is missing."""
    missing = pc.is_null(values, nan_is_null=True)
    if pc.any(missing).as_py():
        return bool(pc.all(missing).as_py())
    extremes = pc.min_max(values)
    return bool(extremes["min"] == extremes["max"])


def infer_text_schema(
    name: str, texts: Any, counts: IntArray, decimals: DecimalContext, *, rows: Any
) -> ColumnSchema:
    """Infer the kind of texts from the different ones, their counts, and all rows."""
    if are_numbers(texts) and (codes := _infer_codes(name, texts)) is not None:
        return codes
    if are_datetimes(texts) and len(texts):
        return ColumnSchema(Kind.DATETIME)
    numeric = are_number_like(texts)
    if numeric.all():
        number_format, notes = find_number_format(name, texts, decimals, rows=rows)
        if are_numbers(texts) and pc.any(pc.match_substring_regex(texts, LEADING_ZERO)).as_py():
            notes = (*notes, _describe_dropped_zeros(name, texts))
        return ColumnSchema(Kind.NUMERIC, number_format, notes)
    times = find_times(texts)
    if not pc.any(pc.match_substring_regex(texts, TWO_DIGIT_HOUR)).as_py():
        times[:] = False  # ratios, such as 1:10
    if times.all():
        return ColumnSchema(Kind.NUMERIC, decimals.number_format(name))
    _check_remarks(name, texts, counts, numeric, rows, "number", "numbers")
    _check_remarks(name, texts, counts, times, rows, "time of day", "times of day")
    dates = find_datetimes(texts)
    _check_remarks(name, texts, counts, dates, rows, "date", "dates")
    other_dates = find_other_dates(texts) & ~dates
    if other_dates.any() and counts[dates | other_dates].sum() >= MIXED_SHARE * counts.sum():
        text = texts[int(other_dates.argmax())].as_py()
        return ColumnSchema(Kind.CATEGORICAL, notes=(_describe_other_dates(name, text),))
    return ColumnSchema(Kind.CATEGORICAL)


# -- numbers ---------------------------------------------------------------------------------------

LEADING_ZERO = r"^[+-]?0\d"
CODE_OF_DIGITS = r"^\d{2,}$"
TWO_DIGIT_HOUR = r"^\d\d:"


def _infer_codes(name: str, texts: Any) -> ColumnSchema | None:
    """Return categories if all texts have as many digits and some begin with a zero, else None."""
    lengths = pc.min_max(pc.binary_length(texts))
    same = len(texts) > 0 and lengths["min"] == lengths["max"]
    zeros = texts.filter(pc.match_substring_regex(texts, LEADING_ZERO))
    if not same or not len(zeros):
        return None
    if not pc.all(pc.match_substring_regex(texts, CODE_OF_DIGITS)).as_py():
        return None
    note = (
        f"the column {name!r} holds codes with leading zeros such as {zeros[0].as_py()!r}, and is "
        "taken for categories; declare it numeric if they are numbers"
    )
    return ColumnSchema(Kind.CATEGORICAL, notes=(note,))


def _describe_dropped_zeros(name: str, texts: Any) -> str:
    text = texts.filter(pc.match_substring_regex(texts, LEADING_ZERO))[0].as_py()
    number = normalize_categories(pa.array([text]))[0].as_py()
    return (
        f"leading zeros of the column {name!r} are dropped, {text!r} is the number {number}; "
        "declare it categorical if these are codes"
    )


# -- numbers, times and dates with remarks ---------------------------------------------------------

FEW_LABELS = 20


def _check_remarks(
    name: str, texts: Any, counts: IntArray, usual: BoolArray, rows: Any, noun: str, plural: str
) -> None:
    """Raise an error if nearly all rows are numbers, times or dates, but some are not.

    Such a column is a quantity with a few remarks in it; as categories, it would silently lose its
    order.
    """
    odd = int(counts[~usual].sum())
    if not 0 < odd <= (1 - MIXED_SHARE) * counts.sum():
        return
    text = texts[int((~usual).argmax())]
    others = f", as are {odd - 1} others" if odd > 2 else ", as is another" if odd == 2 else ""
    raise RowError(
        f"the column {name!r} must hold {plural} only, but",
        pc.index(rows, text).as_py(),
        f"is {text.as_py()!r}, which is not a {noun}{others}; leave such values empty, or "
        "declare the column categorical",
    )


def check_number_labels(name: str, values: pa.ChunkedArray) -> None:
    """Raise an error for a target of which nearly all rows are numbers, and many different ones.

    A few different numbers may well be labels.
    """
    counted = pc.value_counts(values.drop_null())
    texts, counts = counted.field("values"), counted.field("counts").to_numpy()
    numeric = are_number_like(texts)
    if int(numeric.sum()) > FEW_LABELS:
        _check_remarks(name, texts, counts, numeric, values, "number", "numbers")


def _describe_other_dates(name: str, text: str) -> str:
    return (
        f"the column {name!r} seems to hold dates such as {text!r}, but is taken for categories, "
        "since only ISO 8601 is read as dates; write them like 2024-12-31 or 2024-12-31T08:15:00Z"
    )


IDENTIFIER_SHARE = 0.95
IDENTIFIER_ROWS = 100


def looks_like_identifier(column: pa.ChunkedArray, kind: Kind) -> bool:
    """Return whether nearly every row has a different value, which a model can only memorize.

    Fractions may all differ and still be useful. Integers must also be close together: of a running
    number, the training rows have a random half or more.
    """
    if len(column) < IDENTIFIER_ROWS:
        return False
    if kind is Kind.CATEGORICAL:
        return count_distinct(to_texts(column)) > IDENTIFIER_SHARE * len(column)
    if kind is Kind.NUMERIC and pa.types.is_integer(column.type) and column.null_count == 0:
        values = column.to_numpy()
        return bool(
            count_distinct(column) == len(column)
            and float(values.max()) - float(values.min()) < 2.0 * np.float64(len(column))
        )
    return False


def describe_identifier(name: str) -> str:
    """Return the note about a column that looks like an identifier."""
    return (
        f"the column {name!r} looks like an identifier: nearly every row has its own value; drop "
        "it if it means nothing"
    )
