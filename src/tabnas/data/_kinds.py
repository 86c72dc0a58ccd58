"""What kind of column a column is, and how its numbers are written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._moments import are_moments
from tabnas.data._number_columns import find_number_format
from tabnas.data._number_text import (
    ANYWHERE,
    POINT,
    DecimalContext,
    NumberFormat,
    are_number_like,
)
from tabnas.data._values import (
    RowError,
    are_numbers,
    distinct,
    is_moment,
    is_quantity,
    is_text,
    plain,
    plain_categories,
    refuse_unfit,
    texts,
)
from tabnas.types import BoolArray, IntArray


class Kind(StrEnum):
    """How a column's values are meant."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    HASHED = "hashed"  # categories without end; never found, only declared
    CONSTANT = "constant"  # says nothing, and is dropped


@dataclass(frozen=True)
class Meaning:
    """What a column was found to be."""

    kind: Kind
    form: NumberFormat = POINT  # of numbers that are texts
    notes: tuple[str, ...] = ()  # what people should know of it


def find_kind(name: str, column: pa.ChunkedArray) -> Kind:
    """The kind of a column, from its type and, for texts, its values."""
    return find_meaning(name, column).kind


def find_meaning(
    name: str, column: pa.ChunkedArray, decimals: DecimalContext = ANYWHERE
) -> Meaning:
    """The kind of a column and, if it has numbers as texts, how they are written."""
    refuse_unfit(name, column)
    categories = pa.types.is_dictionary(column.type)
    values = texts(column) if categories or is_text(column) else plain(column)
    if is_constant(values):
        return Meaning(Kind.CONSTANT)
    if categories:  # a frame's own categories stay categories, even if they look like numbers
        return Meaning(Kind.CATEGORICAL)
    if is_text(column):
        counted = pc.value_counts(values.drop_null())
        counts = counted.field("counts").to_numpy()
        return meaning_of_texts(name, counted.field("values"), counts, decimals, rows=values)
    if is_moment(column.type):
        return Meaning(Kind.DATETIME)
    if is_quantity(column.type):
        return Meaning(Kind.NUMERIC, decimals.form_of(name))
    return Meaning(Kind.BOOLEAN)


def meaning_of(
    name: str, column: pa.ChunkedArray, decimals: DecimalContext, declared: Kind | None
) -> Meaning:
    """What a column is, or how one that a user has declared a kind of is written."""
    if declared is None:
        return find_meaning(name, column, decimals)
    if declared is not Kind.NUMERIC:
        return Meaning(declared)
    if not is_text(column):
        return Meaning(declared, decimals.form_of(name))
    values = texts(column)
    found = values.unique().drop_null()
    if not are_number_like(found).all():  # whoever reads them names the row
        return Meaning(declared, decimals.form_of(name))
    return Meaning(declared, *find_number_format(name, found, decimals, rows=values))


def is_constant(values: pa.ChunkedArray) -> bool:
    """Whether all values are missing, or all are the same and none is missing."""
    missing = pc.is_null(values, nan_is_null=True)
    if pc.any(missing).as_py():
        return bool(pc.all(missing).as_py())
    extremes = pc.min_max(values)
    return bool(extremes["min"] == extremes["max"])


def meaning_of_texts(
    name: str, found: Any, counts: IntArray, decimals: DecimalContext, *, rows: Any
) -> Meaning:
    """What texts mean, from the different ones, how often each occurs, and all rows of them."""
    if are_numbers(found) and (codes := _leading_zeros(name, found)) is not None:
        return codes
    if are_moments(found) and len(found):
        return Meaning(Kind.DATETIME)
    numeric = are_number_like(found)
    if numeric.all():
        form, notes = find_number_format(name, found, decimals, rows=rows)
        if are_numbers(found) and pc.any(pc.match_substring_regex(found, LEADING_ZERO)).as_py():
            notes = (*notes, _dropped_zeros(name, found))
        return Meaning(Kind.NUMERIC, form, notes)
    _refuse_remarks(name, found, counts, numeric, rows)
    return Meaning(Kind.CATEGORICAL)


# -- numbers ---------------------------------------------------------------------------------------

LEADING_ZERO = r"^[+-]?0\d"
CODE_OF_DIGITS = r"^\d{2,}$"


def _leading_zeros(name: str, found: Any) -> Meaning | None:
    """Categories, if all texts are digits, equally many, and some begin with a zero."""
    lengths = pc.min_max(pc.binary_length(found))
    same = len(found) > 0 and lengths["min"] == lengths["max"]
    zeros = found.filter(pc.match_substring_regex(found, LEADING_ZERO))
    if not same or not len(zeros):
        return None
    if not pc.all(pc.match_substring_regex(found, CODE_OF_DIGITS)).as_py():
        return None
    note = (
        f"the column {name!r} holds codes with leading zeros such as {zeros[0].as_py()!r}, and is "
        "taken for categories; declare it numeric if they are numbers"
    )
    return Meaning(Kind.CATEGORICAL, notes=(note,))


def _dropped_zeros(name: str, found: Any) -> str:
    text = found.filter(pc.match_substring_regex(found, LEADING_ZERO))[0].as_py()
    number = plain_categories(pa.array([text]))[0].as_py()
    return (
        f"leading zeros of the column {name!r} are dropped, {text!r} is the number {number}; "
        "declare it categorical if these are codes"
    )


# -- numbers with remarks --------------------------------------------------------------------------

MIXED_SHARE = 0.9
FEW_LABELS = 20


def _refuse_remarks(name: str, found: Any, counts: IntArray, numeric: BoolArray, rows: Any) -> None:
    """Refuse texts of which nearly all rows are numbers.

    Such a column is a quantity with a few remarks in it; taken for categories, it would lose its
    order without a word.
    """
    odd = int(counts[~numeric].sum())
    if not 0 < odd <= (1 - MIXED_SHARE) * counts.sum():
        return
    text = found[int((~numeric).argmax())]
    others = f", as are {odd - 1} others" if odd > 1 else ""
    raise RowError(
        f"the column {name!r} must hold numbers only or be declared categorical, but",
        pc.index(rows, text).as_py(),
        f"is {text.as_py()!r}, which is no number{others}; leave such values empty, or declare the "
        "column categorical",
    )


def refuse_remarks_among_labels(name: str, values: pa.ChunkedArray) -> None:
    """Refuse a target of which nearly all rows are numbers, and many different ones.

    A few different numbers may well be labels, and come back as such.
    """
    counted = pc.value_counts(values.drop_null())
    found, counts = counted.field("values"), counted.field("counts").to_numpy()
    numeric = are_number_like(found)
    if int(numeric.sum()) > FEW_LABELS:
        _refuse_remarks(name, found, counts, numeric, values)


IDENTIFIER_SHARE = 0.95
IDENTIFIER_ROWS = 100


def looks_like_identifier(column: pa.ChunkedArray, kind: Kind) -> bool:
    """Whether nearly every row has a value of its own, which a model can only learn by heart.

    Fractions may all differ and still mean something; whole numbers must also be close together:
    of a running number, training rows have a random half or more.
    """
    if len(column) < IDENTIFIER_ROWS:
        return False
    if kind is Kind.CATEGORICAL:
        return distinct(texts(column)) > IDENTIFIER_SHARE * len(column)
    if kind is Kind.NUMERIC and pa.types.is_integer(column.type) and column.null_count == 0:
        values = column.to_numpy()
        return bool(
            distinct(column) == len(column)
            and float(values.max()) - float(values.min()) < 2.0 * np.float64(len(column))
        )
    return False


def identifier_note(name: str) -> str:
    """What to say of a column that looks like an identifier."""
    return (
        f"the column {name!r} looks like an identifier: nearly every row has its own value; drop "
        "it if it means nothing"
    )
