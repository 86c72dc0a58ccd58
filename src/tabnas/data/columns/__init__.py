"""Column encoders, one file per kind. A new kind is a subclass and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabnas.data.columns._boolean import BooleanColumn
from tabnas.data.columns._categorical import CategoricalColumn
from tabnas.data.columns._column import (
    DecimalMark,
    DistinctTexts,
    FittedColumn,
    Text,
    read_text,
)
from tabnas.data.columns._datetime import CYCLES, DAY, MAX_SCALED_TIME, DatetimeColumn
from tabnas.data.columns._hashed import BUCKETS, HashedColumn, check_buckets
from tabnas.data.columns._numeric import FAR, SMOOTH_LIMIT, NumericColumn
from tabnas.decoding import DecodeError, describe_value

COLUMNS: dict[str, type[FittedColumn]] = {
    str(column.kind): column
    for column in (NumericColumn, CategoricalColumn, BooleanColumn, DatetimeColumn, HashedColumn)
}


def column_from_dict(state: Any) -> FittedColumn:
    """Return the column of a state that `to_dict` gave; raise an error if it is malformed."""
    kind = state.get("kind") if isinstance(state, Mapping) else None
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise DecodeError(
            f"a column must be of a kind among {', '.join(COLUMNS)}, got {describe_value(kind)}"
        )
    return COLUMNS[kind].from_dict({key: v for key, v in state.items() if key != "kind"})


__all__ = [
    "BUCKETS",
    "CYCLES",
    "DAY",
    "FAR",
    "MAX_SCALED_TIME",
    "SMOOTH_LIMIT",
    "BooleanColumn",
    "CategoricalColumn",
    "DatetimeColumn",
    "DecimalMark",
    "DistinctTexts",
    "FittedColumn",
    "HashedColumn",
    "NumericColumn",
    "Text",
    "check_buckets",
    "column_from_dict",
    "read_text",
]
