"""What kind of column a column is."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyarrow as pa

from tabnas.data._values import are_moments, are_numbers, distinct, is_text, texts
from tabnas.errors import TabnasError


class Kind(StrEnum):
    """How a column's values are meant."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    CONSTANT = "constant"  # says nothing, and is dropped


def find_kind(name: str, column: pa.ChunkedArray) -> Kind:
    """The kind of a column, from its type and, for texts, its values."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = is_text(column)
    moment = pa.types.is_temporal(kind) and not pa.types.is_duration(kind)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (text or moment or number or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise TabnasError(
            f"the column {name!r} holds {kind}, which is no kind of feature; drop it or convert it"
        )
    values = texts(column) if text else column
    if values.null_count == len(values) or (values.null_count == 0 and distinct(values) == 1):
        return Kind.CONSTANT
    # a frame's own categories stay categories, even if they look like numbers
    if pa.types.is_dictionary(column.type):
        return Kind.CATEGORICAL
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN
    if moment or (text and not are_numbers(values) and are_moments(values)):
        return Kind.DATETIME
    if number or (text and are_numbers(values)):
        return Kind.NUMERIC
    return Kind.CATEGORICAL


IDENTIFIER_SHARE = 0.95
IDENTIFIER_ROWS = 100


def looks_like_identifier(column: pa.ChunkedArray, kind: Kind) -> bool:
    """Whether nearly every row has a value of its own, which a model can only learn by heart.

    Fractions may all differ and still mean something; whole numbers must also be without gaps.
    """
    if len(column) < IDENTIFIER_ROWS:
        return False
    if kind is Kind.CATEGORICAL:
        return distinct(texts(column)) > IDENTIFIER_SHARE * len(column)
    if kind is Kind.NUMERIC and pa.types.is_integer(column.type) and column.null_count == 0:
        values = column.to_numpy()
        return bool(
            distinct(column) == len(column)
            and float(values.max()) - float(values.min()) < 1.1 * np.float64(len(column))
        )
    return False
