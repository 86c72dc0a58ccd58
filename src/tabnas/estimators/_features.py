"""Validation of X: a table that satisfies scikit-learn's rules of names and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_array, validate_data

from tabnas.data import Table
from tabnas.errors import TabNASError


def check_features(estimator: Any, features: Any, *, reset: bool) -> Table:
    """Return the features as a table of at least one row and column.

    With `reset` the estimator stores their number, and their names if all are texts; without it,
    they must be equal to those stored.
    """
    if _is_frame(features):
        table = _table_from_frame(features)
        validated = features
        if table.has_names:
            unused = set() if reset else _find_unused(estimator)
            validated = table.drop([name for name in table if name in unused]).arrow
        _check_not_empty(table)
    else:
        validated = _check_array(estimator, features)
        table = Table.from_data(validated)
    validate_data(estimator, validated, reset=reset, skip_check_array=True)
    return table


def _find_unused(estimator: Any) -> set[str]:
    """Return the columns that a loaded model does not use: new rows may have them or not."""
    model = getattr(estimator, "model_", None)
    return set(model.encoder.dropped) if model is not None else set()


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
    if isinstance(features, np.ma.MaskedArray):  # scikit-learn would take what is behind the mask
        is_number = features.dtype.kind in "iuf"
        features = features.astype(np.float64 if is_number else object)
        features = features.filled(np.nan if is_number else None)
    return check_array(
        features, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X"
    )


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
