"""The inputs of an ONNX file, one for each column, and how to make them from a table.

Numbers are float64, as in the encoder, because float32 is too coarse for dates in seconds or
account numbers. Missing numbers are NaN, missing texts are empty, and missing integers and dates
are the smallest integer, since ONNX has no missing values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data import Table, TableEncoder, to_booleans, to_seconds
from tabnas.data.columns import (
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    FittedColumn,
    HashedColumn,
    NumericColumn,
)
from tabnas.errors import TabNASError
from tabnas.model import Model

MISSING_INTEGER = int(np.iinfo(np.int64).min)
"""Stands for a missing integer or date."""
MAX_DIGITS = 19  # of a 64-bit integer


@dataclass(frozen=True, kw_only=True)
class ColumnInput:
    """One input [rows, 1] of a file."""

    name: str
    kind: str  # of the column
    dtype: str
    missing: str  # how a missing value is written
    description: str

    def to_dict(self) -> dict[str, str]:
        """Return everything but the name as plain values for JSON."""
        return {
            "kind": self.kind,
            "type": self.dtype,
            "missing": self.missing,
            "description": self.description,
        }


def column_input(column: FittedColumn) -> ColumnInput:
    """Return the input for this column; raise an error if ONNX cannot express its kind."""
    if isinstance(column, NumericColumn):
        dtype, missing, value = "float64", "NaN", "a number"
    elif isinstance(column, BooleanColumn):
        dtype, missing, value = "float64", "NaN", "0 for false, 1 for true"
    elif isinstance(column, DatetimeColumn):
        dtype, missing = "int64", str(MISSING_INTEGER)
        value = "integer seconds since 1970-01-01 UTC, fractions cut off"
    elif isinstance(column, CategoricalColumn) and takes_integers(column):
        dtype, missing, value = "int64", str(MISSING_INTEGER), "a category, any integer"
    elif isinstance(column, CategoricalColumn):
        dtype, missing = "string", "the empty text"
        value = "a category, any text without spaces around it; integers without a decimal point"
    elif isinstance(column, HashedColumn):
        raise TabNASError(
            f"the column {column.name!r} is hashed, and ONNX has no such hash; export the weights "
            "only and encode rows with model.encoder, or make the column categorical"
        )
    else:
        raise TabNASError(
            f"columns must be numeric, categorical, boolean or datetime to be exported, but "
            f"{column.name!r} is {column.kind}; export the weights only and encode it "
            "elsewhere"
        )
    return ColumnInput(
        name=column.name,
        kind=str(column.kind),
        dtype=dtype,
        missing=missing,
        description=f"{column.kind}: {value}; missing: {missing}",
    )


def takes_integers(column: CategoricalColumn) -> bool:
    """Return whether all categories are integers; otherwise they are compared as texts."""
    return bool(column.vocabulary) and all(
        (number := parse_integer(category)) is not None and number != MISSING_INTEGER
        for category in column.vocabulary
    )


def parse_integer(text: str) -> int | None:
    """Return the 64-bit integer that is written exactly like this, if there is one.

    >>> parse_integer("-7"), parse_integer("007"), parse_integer("7.0")
    (-7, None, None)
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
        return None
    number = int(text)
    fits = MISSING_INTEGER <= number <= -(MISSING_INTEGER + 1)
    return number if fits and str(number) == text else None


def onnx_inputs(model: Model, table: Any) -> dict[str, NDArray[Any]]:
    """Return the inputs of an exported file for the rows of a table, by name, [rows, 1] each.

    >>> from tabnas.data import Table, TableEncoder
    >>> columns = Table.from_data({"age": [31, 44, 27], "city": ["Bern", "Basel", "Bern"]})
    >>> encoder = TableEncoder.fit(columns)
    >>> inputs = encoder_inputs(encoder, Table.from_data({"age": [None], "city": [None]}))
    >>> inputs["age"].tolist(), inputs["city"].tolist()
    ([[nan]], [['']])
    """
    return encoder_inputs(model.encoder, Table.from_data(table))


def encoder_inputs(encoder: TableEncoder, table: Table) -> dict[str, NDArray[Any]]:
    """Return the inputs for the rows of a table, for which only the encoder is needed."""
    table = encoder.match_columns(table)
    inputs = {}
    for column in encoder.columns:
        column_input(column)  # raises an error for hashed columns
        values = table.column(column.name)
        inputs[column.name] = _to_array(encoder.with_table_decimal(table, column, values), values)
    return {name: array.reshape(-1, 1) for name, array in inputs.items()}


def _to_array(column: FittedColumn, values: pa.ChunkedArray) -> NDArray[Any]:
    if isinstance(column, NumericColumn):
        return column.read(values)
    if isinstance(column, BooleanColumn):
        return to_booleans(column.name, values)
    if isinstance(column, DatetimeColumn):
        timestamps, missing = to_seconds(column.name, values)
        return np.where(missing, MISSING_INTEGER, timestamps)
    assert isinstance(column, CategoricalColumn)
    texts = column.normalize(values)
    if not takes_integers(column):
        return np.array(texts.fill_null("").to_pylist(), dtype=object)
    unseen = _unseen_integer(column.vocabulary)
    integers: Mapping[str | None, int] = {None: MISSING_INTEGER} | {
        text: number
        if (number := parse_integer(text)) is not None and number != MISSING_INTEGER
        else unseen
        for text in texts.unique().to_pylist()
        if text is not None
    }
    return np.array([integers[text] for text in texts.to_pylist()], dtype=np.int64)


def _unseen_integer(vocabulary: tuple[str, ...]) -> int:
    """Return an integer that is not a category, for texts that are not integers."""
    categories = set(vocabulary)
    return next(number for number in range(len(categories) + 1) if str(number) not in categories)
