"""X as a table, held to scikit-learn's rules of names and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_array, validate_data

from tabnas.data import Table
from tabnas.errors import TabNASError


def checked_table(estimator: Any, features: Any, *, reset: bool) -> Table:
    """The features as a table of at least one row and column.

    With `reset` the estimator learns their number, and their names if all are texts; without it,
    they must be those it has learned, in the same order.
    """
    if _is_frame(features):
        table = _of_frame(features)
        shown = table.arrow if table.named else features
        _refuse_empty(table)
    else:
        shown = _checked_array(estimator, features)
        table = Table.of(shown)
    validate_data(estimator, shown, reset=reset, skip_check_array=True)
    return table


def _is_frame(features: Any) -> bool:
    """Whether it has columns of its own, or is for `Table.of` to refuse."""
    if isinstance(features, np.ndarray):
        return features.dtype.names is not None
    speaks_arrow = hasattr(features, "__arrow_c_stream__") or hasattr(features, "__arrow_c_array__")
    columns = isinstance(features, Table | pa.Table | Mapping)
    return columns or speaks_arrow or _origin(features) in ("pandas", "scipy")


def _origin(features: Any) -> str:
    return type(features).__module__.split(".")[0]


def _of_frame(frame: Any) -> Table:
    """Columns whose names are no texts are matched by position, as scikit-learn does."""
    table = Table.of(frame)
    if _origin(frame) == "pandas" and not all(isinstance(name, str) for name in frame.columns):
        return table.renamed(table.names, named=False)
    return table


def _checked_array(estimator: Any, features: Any) -> Any:
    """An array of two dimensions; missing values and texts are welcome."""
    if isinstance(features, Sequence) and not isinstance(features, str | bytes):
        # as objects, lest one text in a row turn all of them into texts
        features = _objects(features)
    return check_array(
        features, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X"
    )


def _objects(rows: Sequence[Any]) -> Any:
    try:
        return np.array(rows, dtype=object)
    except ValueError:
        raise TabNASError("X must have the same number of values in every row") from None


def _refuse_empty(table: Table) -> None:
    if not len(table) or not table.names:
        shape = (len(table), len(table.names))
        raise TabNASError(f"X must have rows and columns, got the shape {shape}")


def categorical_kinds(table: Table, given: Any) -> dict[str, str]:
    """The columns that a user calls categorical: names, positions or a mask."""
    if given is None:
        return {}
    wanted: list[Any] = list(given) if not isinstance(given, str) else [given]
    if wanted and all(isinstance(one, bool | np.bool_) for one in wanted):
        if len(wanted) != len(table.names):
            raise TabNASError(
                f"categorical_features must have a value for each of the {len(table.names)} "
                f"columns if it is a mask, got {len(wanted)}"
            )
        wanted = [k for k, chosen in enumerate(wanted) if chosen]
    return {_column_name(table, one): "categorical" for one in wanted}


def _column_name(table: Table, one: Any) -> str:
    if isinstance(one, str):
        return table.known(one)
    if isinstance(one, int | np.integer) and 0 <= one < len(table.names):
        return table.names[one]
    raise TabNASError(
        "categorical_features must be names of columns, positions from 0 to "
        f"{len(table.names) - 1}, or a mask, got {one!r}"
    )
