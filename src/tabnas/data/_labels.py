"""The labels of classes: of any type, and told apart by how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._number_text import are_number_like
from tabnas.data._values import (
    SURE_MARKS,
    absent,
    decoded,
    is_quantity,
    is_text,
    numbers,
    plain_categories,
    refuse_unfit,
    texts,
    truths,
)

Label = str | int | bool | float
"""A class, as the table has it."""


def find_labels(name: str, column: pa.ChunkedArray) -> tuple[Label, ...]:
    """The different labels of a column, in order; whole floats count as integers.

    Texts that differ in the spaces around them only are one label, the shortest of them.
    """
    refuse_unfit(name, column)
    column = decoded(column)
    if is_text(column):
        return _text_labels(column.unique())
    if pa.types.is_boolean(column.type) or pa.types.is_integer(column.type):
        return tuple(sorted(v for v in column.unique().to_pylist() if v is not None))
    if is_quantity(column.type):
        values = np.unique(numbers(name, column)[~absent(column)])
        whole = bool(((values % 1 == 0) & (np.abs(values) < 2.0**63)).all())
        return tuple(int(value) if whole else float(value) for value in values)
    return tuple(sorted(v for v in texts(column).unique().to_pylist() if v is not None))


def _text_labels(found: pa.Array) -> tuple[str, ...]:
    shortest: dict[str, str] = {}
    keys = _text_keys(_chunked(found))
    for label, key in zip(found.to_pylist(), keys.to_pylist(), strict=True):
        if key is not None:
            shortest[key] = min(label, shortest.get(key, label), key=lambda t: (len(t), t))
    return tuple(shortest[key] for key in sorted(shortest))


def _text_keys(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Labels that are texts without spaces around; "-" and "none" are such, among others."""
    numeric = are_number_like(texts(column).unique()).all()
    return texts(column) if numeric else texts(column, marks=SURE_MARKS)


def label_codes(name: str, labels: Sequence[Label], column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The number of each value's label, whatever type it comes in; null where there is none."""
    refuse_unfit(name, column)
    if isinstance(labels[0], bool):
        return pa.chunked_array([pa.array(truths(name, column), from_pandas=True)]).cast(pa.int32())
    if pa.types.is_boolean(column.type) and isinstance(labels[0], int):
        column = column.cast(pa.int8())
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    if isinstance(labels[0], str):
        return pc.index_in(texts(column, marks=SURE_MARKS), value_set=label_keys(labels))
    return pc.index_in(plain_categories(texts(column)), value_set=label_keys(labels))


def label_keys(labels: Sequence[Label]) -> pa.Array:
    """What labels are told apart by."""
    numeric = isinstance(labels[0], float)
    values = pa.array(labels, pa.float64()) if numeric else pa.array(list(map(str, labels)))
    return texts(_chunked(values), marks=SURE_MARKS).combine_chunks()


def _chunked(values: Any) -> pa.ChunkedArray:
    return pa.chunked_array([values])
