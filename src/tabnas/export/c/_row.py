"""The struct of a row: one member for each column, and rows of a table as such structs."""

from __future__ import annotations

from collections.abc import Sequence
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
from tabnas.export.c._constants import DTYPES
from tabnas.export.c._names import UNNAMED, name_uniquely, to_comment, to_member

NO_BOOLEAN = -1
"""Stands for a missing boolean; a missing number or date is NAN."""


@dataclass(frozen=True)
class Field:
    """A member of the struct."""

    column: FittedColumn
    name: str
    ctype: str
    missing: str  # how a missing value is written in C
    description: str


def make_fields(
    encoder: TableEncoder, prefix: str = "tabnas", table: Table | None = None
) -> tuple[Field, ...]:
    """Return the members of the struct in the order of the columns.

    If there is a table, its types tell which numbers are times and durations.
    """
    columns = encoder.columns
    members = [to_member(column.name) for column in columns]
    names = name_uniquely([column.name for column in columns], members, [UNNAMED])
    types = {} if table is None else _column_types(encoder, table)
    return tuple(
        _make_field(column, name, prefix, types.get(column.name))
        for column, name in zip(columns, names, strict=True)
    )


def _column_types(encoder: TableEncoder, table: Table) -> dict[str, pa.DataType]:
    matched = encoder.match_columns(table)
    return {column.name: matched.column(column.name).type for column in encoder.columns}


def _make_field(
    column: FittedColumn, name: str, prefix: str, data_type: pa.DataType | None
) -> Field:
    if isinstance(column, NumericColumn):
        text = f"{_describe_number(column, data_type)}; missing: NAN"
        return Field(column, name, "double", "NAN", text)
    if isinstance(column, BooleanColumn):
        text = f"0 for false, 1 for true; missing: {NO_BOOLEAN}"
        return Field(column, name, "int8_t", str(NO_BOOLEAN), text)
    if isinstance(column, DatetimeColumn):
        text = "seconds since 1970-01-01 UTC, fractions are cut off; missing: NAN"
        return Field(column, name, "double", "NAN", text)
    if isinstance(column, HashedColumn):
        code = missing_code(column)
        text = f"what {prefix}_code_{name} returns; missing: {code}"
        return Field(column, name, "int32_t", str(code), text)
    if isinstance(column, CategoricalColumn):
        stem = f"{prefix}_{name}".upper()
        text = f"an enumerator {stem}_..., or what {prefix}_code_{name} returns"
        return Field(column, name, "int32_t", str(missing_code(column)), text)
    raise TabNASError(
        "columns must be numeric, categorical, hashed, boolean or datetime to be written in C, "
        f"but {column.name!r} is {type(column).__name__}; leave it out"
    )


def _describe_number(column: NumericColumn, data_type: pa.DataType | None) -> str:
    if data_type is not None and pa.types.is_time(data_type):
        return "a time of day in seconds since midnight"
    if data_type is not None and pa.types.is_duration(data_type):
        return "a duration in seconds"
    if not column.unit:
        return "a number"
    before = f"20{column.unit}" if column.unit == "%" else f"20 {column.unit}"
    return f"a number in {to_comment(column.unit)}: 20 for {to_comment(before)}"


def missing_code(column: CategoricalColumn | HashedColumn) -> int:
    """Return the code of a missing category: that of others if training had none."""
    return column.n_categories - 1 if column.has_missing else 0


def row_dtype(fields: Sequence[Field]) -> np.dtype[Any]:
    """Return the struct as NumPy's type, with the alignment of compilers."""
    return np.dtype([(field.name, DTYPES[field.ctype]) for field in fields], align=True)


def make_rows(encoder: TableEncoder, fields: Sequence[Field], table: Table) -> NDArray[Any]:
    """Return the rows of a table as structs."""
    table = encoder.match_columns(table)
    rows = np.zeros(len(table), row_dtype(fields))
    for field in fields:
        values = table.column(field.column.name)
        column = encoder.with_table_decimal(table, field.column, values)
        rows[field.name] = _to_array(column, values)
    return rows


def _to_array(column: FittedColumn, values: Any) -> NDArray[Any]:
    if isinstance(column, NumericColumn):
        return column.read(values)
    if isinstance(column, BooleanColumn):
        return np.nan_to_num(to_booleans(column.name, values), nan=NO_BOOLEAN)
    if isinstance(column, DatetimeColumn):
        seconds, missing = to_seconds(column.name, values)
        return np.where(missing, np.nan, seconds)
    codes = np.empty(len(values), np.int32)
    column.encode(values, np.empty((0, 0), np.float32), codes)
    return codes
