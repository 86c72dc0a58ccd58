"""Validation of X: a table that satisfies scikit-learn's rules of names and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_array, validate_data

from tabnas.data import Table, TableEncoder
from tabnas.errors import TabNASError


def check_features(
    estimator: Any, features: Any, *, reset: bool, encoder: TableEncoder | None = None
) -> Table:
    """Return the features as a table of at least one row and column.

    With `reset` the estimator stores their number, and their names if all are texts; without it,
    they must be equal to those stored. With `encoder`, its dropped columns are left out: new rows
    may have them or not.
    """
    if _is_frame(features):
        table = _table_from_frame(features)
        validated = table.arrow if table.has_names else features
        _check_not_empty(table)
    else:
        validated = _check_array(estimator, features)
        table = Table.from_data(validated)
    if encoder is not None and (unused := _find_unused(table, encoder)):
        table = table.drop(unused)
        validated = (
            table.arrow if table.has_names else np.broadcast_to(0, (len(table), len(table.names)))
        )
    validate_data(estimator, validated, reset=reset, skip_check_array=True)
    return table


def _find_unused(table: Table, encoder: TableEncoder) -> list[str]:
    """Return the columns of the table that the encoder drops, by name or by position."""
    if table.has_names:
        return [name for name in table if name in encoder.dropped]
    if len(table.names) != len(encoder.names):
        return []
    named = zip(table.names, encoder.names, strict=True)
    return [name for name, trained in named if trained in encoder.dropped]


def _is_frame(features: Any) -> bool:
    """Return whether X has columns, or is something that `Table.from_data` raises an error for."""
    if isinstance(features, np.ndarray):
        return features.dtype.names is not None
    has_arrow = hasattr(features, "__arrow_c_stream__") or hasattr(features, "__arrow_c_array__")
    has_columns = isinstance(features, Table | pa.Table | Mapping)
    return has_columns or has_arrow or _library(features) in ("pandas", "scipy")


def _library(features: Any) -> str:
    return type(features).__module__.split(".")[0]


def _table_from_frame(frame: Any) -> Table:
    """Convert a frame; columns without text names are matched by position, as in scikit-learn."""
    table = Table.from_data(frame)
    if _library(frame) == "pandas" and not all(isinstance(name, str) for name in frame.columns):
        return table.rename(table.names, has_names=False)
    return table


def _check_array(estimator: Any, features: Any) -> Any:
    """Return an array of two dimensions, which may have missing values and texts."""
    if isinstance(features, Sequence) and not isinstance(features, str | bytes):
        # as objects, so that one text in a row does not turn all its numbers into texts
        features = _object_array(features)
    mask = None
    if isinstance(features, np.ma.MaskedArray):  # scikit-learn ignores masks
        features, mask = features.data, np.ma.getmaskarray(features)
    checked = check_array(
        features, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X"
    )
    return checked if mask is None else np.ma.MaskedArray(checked, mask)


def _object_array(rows: Sequence[Any]) -> Any:
    try:
        return np.array(rows, dtype=object)
    except ValueError:
        raise TabNASError("X must have the same number of values in every row") from None


def _check_not_empty(table: Table) -> None:
    if not len(table) or not table.names:
        shape = (len(table), len(table.names))
        raise TabNASError(f"X must have rows and columns, got the shape {shape}")


def categorical_kinds(table: Table, categorical_features: Any) -> dict[str, str]:
    """Return the kind "categorical" of the columns given by names, positions or a mask."""
    if categorical_features is None:
        return {}
    if isinstance(categorical_features, str):
        categorical_features = [categorical_features]
    keys: list[Any] = list(categorical_features)
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if len(keys) != len(table.names):
            raise TabNASError(
                f"categorical_features must have a value for each of the {len(table.names)} "
                f"columns if it is a mask, got {len(keys)}"
            )
        keys = [position for position, is_categorical in enumerate(keys) if is_categorical]
    return {_column_name(table, key): "categorical" for key in keys}


def _column_name(table: Table, key: Any) -> str:
    if isinstance(key, str):
        return table.resolve_name(key)
    if isinstance(key, int | np.integer) and 0 <= key < len(table.names):
        return table.names[key]
    raise TabNASError(
        "categorical_features must be names of columns, positions from 0 to "
        f"{len(table.names) - 1}, or a mask, got {key!r}"
    )
