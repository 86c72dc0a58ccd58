"""A table as boosted trees take it: numbers as they are, categories as categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tabnas.data import Encoded, Table, TableEncoder
from tabnas.data.columns import (
    BooleanColumn,
    DatetimeColumn,
    EncodedColumn,
    Int32Array,
    NumericColumn,
)
from tabnas.model._task import Float32Array
from tabnas.types import FloatArray, IntArray

MAX_TREE_CATEGORIES = 255
"""Categories of a column that scikit-learn's trees can split as such; missing is none of them."""


class TreeMatrix(Protocol):
    """Inputs of trees, [rows, inputs]: an array, or what makes one of some rows when asked."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Float32Array: ...


@dataclass(frozen=True)
class TreeInputs:
    """What trees are shown of every column: neither scaled nor cut to what a limit bears.

    Numbers are in their own units, less their median, so that float32 keeps the digits that tell
    rows apart. A missing value is NaN. A column of more categories than trees can split has its
    most frequent ones as categories, the others pooled, and beside that every category's number,
    which counts from the most frequent.

    `encoder` is one whose vocabularies no limit has cut. Rows of a store are scaled as the store
    has them, which keeps their order.
    """

    encoder: TableEncoder

    @cached_property
    def is_category(self) -> tuple[bool, ...]:
        """Whether an input is a category, for each."""
        return tuple(category for _, category in self._inputs())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The name of the column that an input is made of, for each."""
        return tuple(name for name, _ in self._inputs())

    def encode(self, table: Table, rows: IntArray | None = None) -> Float32Array:
        """The inputs of all rows, or of those of the numbers `rows`: [rows, inputs]."""
        table = self.encoder.matched(table)
        length = len(table) if rows is None else len(rows)
        matrix = np.empty((length, len(self.is_category)), np.float32)
        first = 0
        for column in self.encoder.columns:
            values = table.column(column.name, rows)
            if column.categories:
                codes = np.empty(length, np.int32)
                column.encode(values, np.empty((length, 0), np.float32), codes)
                found = _from_codes(column, codes)
            else:
                found = _from_numbers(column, values, length)
            matrix[:, first : first + found.shape[1]] = found
            first += found.shape[1]
        return matrix

    def from_encoded(self, encoded: Encoded) -> Float32Array:
        """The same of rows that the encoder has encoded, scaled as they are."""
        matrix = np.empty((len(encoded), len(self.is_category)), np.float32)
        first = number = category = 0
        for column in self.encoder.columns:
            if column.categories:
                found = _from_codes(column, encoded.categorical[:, category])
                category += 1
            else:
                width = len(column.features)
                found = _with_gaps(column, encoded.numeric[:, number : number + width])
                number += width
            matrix[:, first : first + found.shape[1]] = found
            first += found.shape[1]
        return matrix

    def _inputs(self) -> Iterator[tuple[str, bool]]:
        for column in self.encoder.columns:
            if column.categories:
                yield column.name, True
                if _has_too_many(column):
                    yield column.name, False
            else:
                marks = getattr(column, "marks_missing", False)
                for _ in range(len(column.features) - marks):
                    yield column.name, False


@dataclass(frozen=True, eq=False)
class EncodedTreeMatrix:
    """Rows that are encoded already, made into inputs of trees when they are asked for."""

    inputs: TreeInputs
    encoded: Encoded

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, rows: Any) -> Float32Array:
        taken = Encoded(self.encoded.numeric[rows], self.encoded.categorical[rows])
        return self.inputs.from_encoded(taken)


def _from_numbers(column: EncodedColumn, values: object, rows: int) -> FloatArray:
    """A column of numbers in its own units, NaN where missing."""
    center = 0.0
    if isinstance(column, NumericColumn):
        center = column.fill
        column = replace(column, scaling="none", marks_missing=True)
    elif isinstance(column, DatetimeColumn):
        column = replace(column, marks_missing=True)
    numeric = np.empty((rows, len(column.features)))  # float64: the median is taken off below
    column.encode(values, numeric, np.empty(0, np.int32))  # type: ignore[arg-type]
    found = _with_gaps(column, numeric)
    largest = float(np.finfo(np.float32).max)
    return np.clip(found - center, -largest, largest) if center else found


def _with_gaps(column: EncodedColumn, numeric: FloatArray | Float32Array) -> FloatArray:
    """A column's numbers with NaN where a value is missing, in place of a mark or a filling."""
    if getattr(column, "marks_missing", False):
        return np.where(numeric[:, -1:] > 0, np.nan, numeric[:, :-1])
    if isinstance(column, BooleanColumn):
        return np.where(numeric == 0, np.nan, numeric)
    return np.asarray(numeric, np.float64)


def _from_codes(column: EncodedColumn, codes: Int32Array) -> FloatArray:
    missing = _has_missing(column) & (codes == column.categories - 1)
    found = [codes]
    if _has_too_many(column):
        pooled = codes.copy()
        column.recode(pooled, MAX_TREE_CATEGORIES - 1)  # the others are the last one
        found = [pooled, codes]
    return np.where(missing[:, None], np.nan, np.stack(found, axis=1))


def _has_too_many(column: EncodedColumn) -> bool:
    return column.categories - _has_missing(column) > MAX_TREE_CATEGORIES


def _has_missing(column: EncodedColumn) -> bool:
    return bool(getattr(column, "has_missing", False))
