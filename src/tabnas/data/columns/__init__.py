"""Columns, one file a kind. A new kind is one subclass and one line here."""

from __future__ import annotations

from tabnas.data.columns._boolean import BooleanColumn
from tabnas.data.columns._categorical import CategoricalColumn
from tabnas.data.columns._column import EncodedColumn, Float32Array, Int32Array
from tabnas.data.columns._datetime import DatetimeColumn
from tabnas.data.columns._numeric import NumericColumn, Scaling

COLUMNS: dict[str, type[EncodedColumn]] = {
    str(column.kind): column
    for column in (NumericColumn, CategoricalColumn, BooleanColumn, DatetimeColumn)
}

__all__ = [
    "COLUMNS",
    "BooleanColumn",
    "CategoricalColumn",
    "DatetimeColumn",
    "EncodedColumn",
    "Float32Array",
    "Int32Array",
    "NumericColumn",
    "Scaling",
]
