"""Conversion of frames, arrays and mappings to Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.errors import TabNASError


def from_mapping(columns: Mapping[Any, Any]) -> pa.Table:
    """Convert a mapping of columns by name."""
    return _join([str(name) for name in columns], list(columns.values()))


def from_pandas(frame: Any) -> pa.Table:
    """Convert a pandas frame without its index; names that occur twice are checked elsewhere."""
    if frame.ndim != 2:
        raise TabNASError(
            "a table must be a frame, got a series; turn it into one with .to_frame()"
        )
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    return _join([str(name) for name in frame.columns], columns)


def from_array(array: np.ndarray) -> pa.Table:
    """Convert a two-dimensional array, whose columns become x0, x1, …, or a structured array."""
    if array.dtype.names is not None and array.ndim == 1:
        return from_mapping({name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        raise TabNASError(f"a table must have two dimensions, got the shape {array.shape}")
    return from_mapping({f"x{i}": array[:, i] for i in range(array.shape[1])})


def from_rows(rows: Sequence[Any]) -> pa.Table:
    """Convert a list of rows; each column keeps the type of its values."""
    try:
        array = np.array(rows, dtype=object)
    except ValueError:  # NumPy makes a flat array of most ragged lists, but not of all
        raise TabNASError("a table must have the same number of values in every row") from None
    return from_array(array)


def from_arrow(data: Any) -> pa.Table:
    """Convert polars frames and others that implement Arrow's interfaces."""
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError):
        raise TabNASError(
            f"a table must have columns with names, but {type(data).__name__} has none; "
            "turn it into a frame"
        ) from None


def as_chunks(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as a chunked array."""
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def normalize_layout(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in a layout that Arrow can compute with."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        return normalize_layout(pa.chunked_array(chunks, kind.storage_type))
    if pa.types.is_run_end_encoded(kind):
        return normalize_layout(pc.run_end_decode(column))
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.string()))
    return column


def _join(names: list[str], columns: list[Any]) -> pa.Table:
    arrays = [to_arrow(name, values) for name, values in zip(names, columns, strict=True)]
    for name, array in zip(names, arrays, strict=True):
        if len(array) != len(arrays[0]):
            raise TabNASError(
                f"all columns must have the {len(arrays[0])} rows of {names[0]!r}, "
                f"but {name!r} has {len(array)}"
            )
    return pa.Table.from_arrays(arrays, names=names)


def to_arrow(name: str, values: Any) -> Any:
    """Convert one column; values of mixed types become texts."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TabNASError(f"the column {name!r} must hold values, got {type(values).__name__}")
    if getattr(values, "ndim", 1) != 1:
        raise TabNASError(
            f"the column {name!r} must have one dimension, got an array of the shape "
            f"{tuple(values.shape)}; give each of its columns a name"
        )
    if type(values).__module__.split(".")[0] == "pandas":
        _let_arrow_know_pandas()
    kind = str(getattr(values, "dtype", ""))
    if kind.startswith("complex"):
        raise TabNASError(
            f"the column {name!r} holds complex numbers, which are not a kind of feature; "
            "give their real and imaginary parts as two columns"
        )
    if isinstance(values, np.ma.MaskedArray):
        values = _fill_masked(values)
    if kind == str(np.dtype(np.longdouble)) or kind.startswith("Sparse"):
        values = np.asarray(values, np.float64)
    try:
        array = pa.array(values, from_pandas=True)
        if pa.types.is_date(array.type) and _has_times(values, kind):
            raise pa.ArrowTypeError("the first value is a date, and decides that all are")
        return array
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return pa.array([_as_text(value) for value in values], pa.string())


def _fill_masked(values: np.ma.MaskedArray) -> Any:
    """Return a column with missing values where it is masked."""
    mask, data = np.ma.getmaskarray(values), values.data
    if not mask.any():
        return data
    if data.dtype.kind in "biu":
        return pa.array(data, mask=mask)
    if data.dtype.kind in "fmM":
        return np.where(mask, data.dtype.type("nan" if data.dtype.kind == "f" else "NaT"), data)
    filled = data.astype(object)
    filled[mask] = None
    return filled


@cache
def _let_arrow_know_pandas() -> None:
    """Let Arrow import pandas even if it found none before, as the command line lets it."""
    pa.nulls(0).to_pandas()


def _has_times(values: Any, kind: str) -> bool:
    """Return whether values of Python are not only dates, but also points in time."""
    # NaT of pandas is one, too, but is not equal to itself
    return kind in ("", "object") and any(isinstance(v, datetime) and v == v for v in values)


def _as_text(value: Any) -> str | None:
    """Return a value as `to_texts` would write it in a column of such values."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if not isinstance(value, str) and str(value) in ("<NA>", "NaT"):  # of pandas
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).encode("utf-8", "replace").decode()  # half of a surrogate pair is not text
