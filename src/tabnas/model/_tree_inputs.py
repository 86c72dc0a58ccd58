"""Tables as inputs of boosted trees: unscaled numbers, and categories as categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tabnas.data import EncodedTable, Table, TableEncoder
from tabnas.data.columns import (
    BooleanColumn,
    DatetimeColumn,
    FittedColumn,
    NumericColumn,
)
from tabnas.types import Float32Array, FloatArray, Int32Array, IntArray

MAX_TREE_CATEGORIES = 255
"""Categories that a column of scikit-learn's trees can have, in addition to missing values."""


class TreeMatrix(Protocol):
    """Inputs of trees, [rows, inputs]: an array, or an object that computes the rows indexed."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Float32Array: ...


@dataclass(frozen=True)
class TreeInputs:
    """Converts columns to inputs of trees, independently of the limits of a search.

    Numbers are unscaled but centered at their median, so that float32 keeps the digits in which
    rows differ. Missing values are NaN. A column of more categories than trees support becomes two
    inputs: a category, where the rare ones are pooled, and the rank of every category by frequency
    as a number.

    The vocabularies of `encoder` must not be shortened by a limit. Rows of a store are already
    scaled, which keeps their order.
    """

    encoder: TableEncoder

    @cached_property
    def is_category(self) -> tuple[bool, ...]:
        """Whether each input is a category."""
        return tuple(category for _, category in self._inputs())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The name of the column of each input."""
        return tuple(name for name, _ in self._inputs())

    def encode(self, table: Table, rows: IntArray | None = None) -> Float32Array:
        """Return the inputs of all rows, or of those with the numbers `rows`: [rows, inputs]."""
        table = self.encoder.match_columns(table)
        length = len(table) if rows is None else len(rows)
        matrix = np.empty((length, len(self.is_category)), np.float32)
        by_name = {column.name: column for column in self.encoder.columns}
        first = {name: place for place, name in reversed([*enumerate(self.columns)])}

        def encode_column(name: str, values: Any) -> None:
            column = self.encoder.with_table_decimal(table, by_name[name], values)
            if column.n_categories:
                codes = np.empty(length, np.int32)
                column.encode(values, np.empty((length, 0), np.float32), codes)
                inputs = _from_codes(column, codes)
            else:
                inputs = _from_numbers(column, values, length)
            matrix[:, first[name] : first[name] + inputs.shape[1]] = inputs

        table.map_columns(encode_column, by_name, rows)
        return matrix

    def from_encoded(self, encoded: EncodedTable) -> Float32Array:
        """Return the inputs of encoded rows, scaled as they are: [rows, inputs]."""
        matrix = np.empty((len(encoded), len(self.is_category)), np.float32)
        first = number = category = 0
        for column in self.encoder.columns:
            if column.n_categories:
                inputs = _from_codes(column, encoded.categorical[:, category])
                category += 1
            else:
                width = len(column.features)
                inputs = _with_nan(column, encoded.numeric[:, number : number + width])
                number += width
            matrix[:, first : first + inputs.shape[1]] = inputs
            first += inputs.shape[1]
        return matrix

    def _inputs(self) -> Iterator[tuple[str, bool]]:
        for column in self.encoder.columns:
            if column.n_categories:
                yield column.name, True
                if _has_too_many(column):
                    yield column.name, False
            else:
                marks = getattr(column, "marks_missing", False)
                for _ in range(len(column.features) - marks):
                    yield column.name, False


@dataclass(frozen=True, eq=False)
class EncodedTreeMatrix:
    """Encoded rows, converted to inputs of trees when they are indexed."""

    inputs: TreeInputs
    encoded: EncodedTable

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, rows: Any) -> Float32Array:
        return self.inputs.from_encoded(self.encoded.take(rows))


def _from_numbers(column: FittedColumn, values: object, rows: int) -> FloatArray:
    """Return a numeric column unscaled, with NaN for missing values."""
    center = 0.0
    if isinstance(column, NumericColumn):
        center = column.fill
        column = replace(column, scaling="none", marks_missing=True)
    elif isinstance(column, DatetimeColumn):
        column = replace(column, marks_missing=True)
    numeric = np.empty((rows, len(column.features)))  # float64: the median is subtracted below
    column.encode(values, numeric, np.empty(0, np.int32))  # type: ignore[arg-type]
    inputs = _with_nan(column, numeric)
    largest = float(np.finfo(np.float32).max)
    return np.clip(inputs - center, -largest, largest) if center else inputs


def _with_nan(column: FittedColumn, numeric: FloatArray | Float32Array) -> FloatArray:
    """Return a column's numbers with NaN for missing values, without their indicator."""
    if getattr(column, "marks_missing", False):
        return np.where(numeric[:, -1:] > 0, np.nan, numeric[:, :-1])
    if isinstance(column, BooleanColumn):
        return np.where(numeric == 0, np.nan, numeric)
    return np.asarray(numeric, np.float64)


def _from_codes(column: FittedColumn, codes: Int32Array) -> FloatArray:
    missing = _has_missing(column) & (codes == column.n_categories - 1)
    inputs = [codes]
    if _has_too_many(column):
        pooled = codes.copy()
        column.recode(pooled, MAX_TREE_CATEGORIES - 1)  # rare ones become the last one
        inputs = [pooled, codes]
    return np.where(missing[:, None], np.nan, np.stack(inputs, axis=1))


def _has_too_many(column: FittedColumn) -> bool:
    return column.n_categories - _has_missing(column) > MAX_TREE_CATEGORIES


def _has_missing(column: FittedColumn) -> bool:
    return bool(getattr(column, "has_missing", False))
