"""Labels of classes, of any type, and the rows that have one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._number_text import are_number_like
from tabnas.data._values import (
    CERTAIN_NA_VALUES,
    check_column_type,
    decode_dictionary,
    is_missing,
    is_numeric_type,
    is_text,
    normalize_categories,
    to_booleans,
    to_numbers,
    to_texts,
)

Label = str | int | bool | float
"""A class, as the table has it."""


def find_labels(name: str, column: pa.ChunkedArray) -> tuple[Label, ...]:
    """Return the different labels of a column, sorted; integral floats become integers.

    Texts that differ only in the spaces around them are one label, the shortest of them.
    """
    check_column_type(name, column)
    column = decode_dictionary(column)
    if is_text(column):
        return _text_labels(column.unique())
    if pa.types.is_boolean(column.type) or pa.types.is_integer(column.type):
        return tuple(sorted(v for v in column.unique().to_pylist() if v is not None))
    if is_numeric_type(column.type):
        values = np.unique(to_numbers(name, column)[~is_missing(column)])
        is_integral = bool(((values % 1 == 0) & (np.abs(values) < 2.0**63)).all())
        return tuple(int(value) if is_integral else float(value) for value in values)
    return tuple(sorted(v for v in to_texts(column).unique().to_pylist() if v is not None))


def _text_labels(labels: pa.Array) -> tuple[str, ...]:
    shortest: dict[str, str] = {}
    keys = _text_keys(_chunked(labels))
    for label, key in zip(labels.to_pylist(), keys.to_pylist(), strict=True):
        if key is not None:
            shortest[key] = min(label, shortest.get(key, label), key=lambda t: (len(t), t))
    return tuple(shortest[key] for key in sorted(shortest))


def _text_keys(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return labels without spaces around them; "-" and "none" may be labels among other texts."""
    numeric = are_number_like(to_texts(column).unique()).all()
    return to_texts(column) if numeric else to_texts(column, na_values=CERTAIN_NA_VALUES)


def encode_labels(name: str, labels: Sequence[Label], column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the index of each value's label, whatever its type; null where there is none."""
    check_column_type(name, column)
    if isinstance(labels[0], bool):
        return pa.chunked_array([pa.array(to_booleans(name, column), from_pandas=True)]).cast(
            pa.int32()
        )
    if pa.types.is_boolean(column.type) and isinstance(labels[0], int):
        column = column.cast(pa.int8())
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    if isinstance(labels[0], str):
        return pc.index_in(
            to_texts(column, na_values=CERTAIN_NA_VALUES), value_set=normalize_labels(labels)
        )
    return pc.index_in(normalize_categories(to_texts(column)), value_set=normalize_labels(labels))


def normalize_labels(labels: Sequence[Label]) -> pa.Array:
    """Return the texts that distinguish labels."""
    numeric = isinstance(labels[0], float)
    values = pa.array(labels, pa.float64()) if numeric else pa.array(list(map(str, labels)))
    return to_texts(_chunked(values), na_values=CERTAIN_NA_VALUES).combine_chunks()


def _chunked(values: Any) -> pa.ChunkedArray:
    return pa.chunked_array([values])
