"""What a file takes: one input for each column, and how a table becomes them.

What ONNX cannot express is settled here. Numbers enter as float64, in which the encoder computes:
float32 has no room for a date in seconds or a number of an account. A missing number is NaN, a
missing text the empty text, a missing integer or moment the least integer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data import Table, TableEncoder, seconds, truths
from tabnas.data.columns import (
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    EncodedColumn,
    HashedColumn,
    NumericColumn,
)
from tabnas.errors import TabNASError
from tabnas.model import Model

NO_INTEGER = int(np.iinfo(np.int64).min)
"""Stands for a missing integer or moment."""
MOST_DIGITS = 19  # of an integer of 64 bits


@dataclass(frozen=True, kw_only=True)
class ColumnInput:
    """One input [rows, 1] of a file."""

    name: str
    kind: str  # of the column
    dtype: str
    missing: str  # how a missing value is written
    words: str  # all of it, for people

    def to_dict(self) -> dict[str, str]:
        """All but the name, fit for JSON."""
        return {"kind": self.kind, "type": self.dtype, "missing": self.missing, "words": self.words}


def column_input(column: EncodedColumn) -> ColumnInput:
    """What the file takes for this column; a kind that it cannot take is refused."""
    if isinstance(column, NumericColumn):
        dtype, missing, how = "float64", "NaN", "a number"
    elif isinstance(column, BooleanColumn):
        dtype, missing, how = "float64", "NaN", "0 for false, 1 for true"
    elif isinstance(column, DatetimeColumn):
        dtype, missing = "int64", str(NO_INTEGER)
        how = "whole seconds since 1970-01-01 UTC, fractions cut off"
    elif isinstance(column, CategoricalColumn) and takes_integers(column):
        dtype, missing, how = "int64", str(NO_INTEGER), "a category, any integer"
    elif isinstance(column, CategoricalColumn):
        dtype, missing = "string", "the empty text"
        how = "a category, any text without spaces around it; whole numbers without a point"
    elif isinstance(column, HashedColumn):
        raise TabNASError(
            f"a file can take no hashed columns, since ONNX has no such hash, but "
            f"{column.name!r} is one; export the weights only, and encode rows with "
            "model.encoder, or take the column for categories"
        )
    else:
        raise TabNASError(
            f"a file can take numeric, categorical, boolean and datetime columns, but "
            f"{column.name!r} is {column.kind}; export the weights only, and encode it elsewhere"
        )
    return ColumnInput(
        name=column.name,
        kind=str(column.kind),
        dtype=dtype,
        missing=missing,
        words=f"{column.kind}: {how}; missing: {missing}",
    )


def takes_integers(column: CategoricalColumn) -> bool:
    """Whether all categories are integers; else they are compared as texts."""
    return bool(column.vocabulary) and all(
        (number := as_integer(category)) is not None and number != NO_INTEGER
        for category in column.vocabulary
    )


def as_integer(text: str) -> int | None:
    """The integer of 64 bits that is written exactly so, if it is one.

    >>> as_integer("-7"), as_integer("007"), as_integer("7.0")
    (-7, None, None)
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
        return None
    number = int(text)
    inside = NO_INTEGER <= number <= -(NO_INTEGER + 1)
    return number if inside and str(number) == text else None


def onnx_inputs(model: Model, table: Any) -> dict[str, NDArray[Any]]:
    """The rows of a table as an exported file of this model takes them, by name, [rows, 1] each.

    >>> from tabnas.data import Table, TableEncoder
    >>> columns = Table.of({"age": [31, 44, 27], "city": ["Bern", "Basel", "Bern"]})
    >>> encoder = TableEncoder.fit(columns)
    >>> fed = encoded_inputs(encoder, Table.of({"age": [None], "city": [None]}))
    >>> fed["age"].tolist(), fed["city"].tolist()
    ([[nan]], [['']])
    """
    return encoded_inputs(model.encoder, Table.of(table))


def encoded_inputs(encoder: TableEncoder, table: Table) -> dict[str, NDArray[Any]]:
    """The same from the encoder alone."""
    table = encoder.matched(table)
    found = {}
    for column in encoder.columns:
        given = table.column(column.name)
        found[column.name] = _values(encoder.written_in(table, column, given), given)
    return {name: values.reshape(-1, 1) for name, values in found.items()}


def _values(column: EncodedColumn, given: pa.ChunkedArray) -> NDArray[Any]:
    if isinstance(column, NumericColumn):
        return column.read(given)
    if isinstance(column, BooleanColumn):
        return truths(column.name, given)
    if isinstance(column, DatetimeColumn):
        moments, missing = seconds(column.name, given)
        return np.where(missing, NO_INTEGER, moments)
    assert isinstance(column, CategoricalColumn)
    written = column.spelled(given)
    if not takes_integers(column):
        return np.array(written.fill_null("").to_pylist(), dtype=object)
    unseen = _unseen_integer(column.vocabulary)
    known: Mapping[str | None, int] = {None: NO_INTEGER} | {
        text: unseen if (number := as_integer(text)) is None else number
        for text in written.unique().to_pylist()
        if text is not None
    }
    return np.array([known[text] for text in written.to_pylist()], dtype=np.int64)


def _unseen_integer(vocabulary: tuple[str, ...]) -> int:
    """An integer that is no category: what a text that is no integer becomes."""
    taken = set(vocabulary)
    return next(number for number in range(len(taken) + 1) if str(number) not in taken)
