"""What kind of column a column is."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._moments import are_moments
from tabnas.data._values import (
    RowError,
    are_numbers,
    distinct,
    is_moment,
    is_quantity,
    is_text,
    no_numbers,
    plain,
    refuse_unfit,
    texts,
)


class Kind(StrEnum):
    """How a column's values are meant."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    HASHED = "hashed"  # categories without end; never found, only declared
    CONSTANT = "constant"  # says nothing, and is dropped


def find_kind(name: str, column: pa.ChunkedArray) -> Kind:
    """The kind of a column, from its type and, for texts, its values."""
    refuse_unfit(name, column)
    categories = pa.types.is_dictionary(column.type)
    values = texts(column) if categories or is_text(column) else plain(column)
    if is_constant(values):
        return Kind.CONSTANT
    if categories:  # a frame's own categories stay categories, even if they look like numbers
        return Kind.CATEGORICAL
    if is_text(column):
        return _kind_of_texts(name, values)
    if is_moment(column.type):
        return Kind.DATETIME
    return Kind.NUMERIC if is_quantity(column.type) else Kind.BOOLEAN


def is_constant(values: pa.ChunkedArray) -> bool:
    """Whether all values are missing, or all are the same and none is missing."""
    missing = pc.is_null(values, nan_is_null=True)
    if pc.any(missing).as_py():
        return bool(pc.all(missing).as_py())
    extremes = pc.min_max(values)
    return bool(extremes["min"] == extremes["max"])


def _kind_of_texts(name: str, values: pa.ChunkedArray) -> Kind:
    found = values.unique()  # most columns repeat themselves
    if are_numbers(found):
        return Kind.NUMERIC
    if are_moments(found):
        return Kind.DATETIME
    if len(found) > MIXED_NUMBERS:
        refuse_mixed(name, values)
    return Kind.CATEGORICAL


MIXED_SHARE = 0.9
MIXED_NUMBERS = 20


def refuse_mixed(name: str, values: pa.ChunkedArray) -> None:
    """Refuse texts of which nearly all are numbers, and many different ones.

    Such a column is a quantity with a few remarks in it; taken for categories, it would lose its
    order without a word. A column of codes has few numbers, or many other texts.
    """
    wrong = no_numbers(values)
    odd, present = int(wrong.sum()), len(values) - values.null_count
    if not 0 < odd <= (1 - MIXED_SHARE) * present:
        return
    if distinct(values.filter(pa.array(~wrong)).cast(pa.float64())) <= MIXED_NUMBERS:
        return
    row = int(wrong.argmax())
    others = f", as are {odd - 1} others" if odd > 1 else ""
    raise RowError(
        f"the column {name!r} must hold numbers only or be declared categorical, however",
        row,
        f"is {values[row].as_py()!r}, which is no number{others}; leave such values empty, or "
        "declare the column categorical",
    )


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
