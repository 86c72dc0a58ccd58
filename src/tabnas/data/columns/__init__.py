"""Columns, one file a kind. A new kind is one subclass and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabnas.data._state import damaged
from tabnas.data.columns._boolean import BooleanColumn
from tabnas.data.columns._categorical import CategoricalColumn
from tabnas.data.columns._column import EncodedColumn, Float32Array, Int32Array
from tabnas.data.columns._datetime import CYCLES, DAY, FARTHEST, DatetimeColumn
from tabnas.data.columns._hashed import BUCKETS, HashedColumn, checked_buckets
from tabnas.data.columns._numeric import FAR, SMOOTH_LIMIT, NumericColumn, Scaling

COLUMNS: dict[str, type[EncodedColumn]] = {
    str(column.kind): column
    for column in (NumericColumn, CategoricalColumn, BooleanColumn, DatetimeColumn, HashedColumn)
}


def column_from_dict(state: Any) -> EncodedColumn:
    """The inverse of a column's `to_dict`."""
    kind = state.get("kind") if isinstance(state, Mapping) else None
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise damaged("a column", f"of a kind among {', '.join(COLUMNS)}", kind)
    return COLUMNS[kind].from_dict({key: v for key, v in state.items() if key != "kind"})


__all__ = [
    "BUCKETS",
    "CYCLES",
    "DAY",
    "FAR",
    "FARTHEST",
    "SMOOTH_LIMIT",
    "BooleanColumn",
    "CategoricalColumn",
    "DatetimeColumn",
    "EncodedColumn",
    "Float32Array",
    "HashedColumn",
    "Int32Array",
    "NumericColumn",
    "Scaling",
    "checked_buckets",
    "column_from_dict",
]
