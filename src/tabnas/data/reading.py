"""What it takes to read a table bit by bit, for rooms that do.

Whoever has a table in memory needs none of this: `read_table` and `TableEncoder` are enough.
"""

from __future__ import annotations

from tabnas.data._kinds import looks_like_identifier
from tabnas.data._readers import reading, separated_form, table_ending
from tabnas.data._separated import SeparatedForm, opened
from tabnas.data._stored import PANDAS_INDEX
from tabnas.data._table import read_ahead
from tabnas.data._targets import holds_classes
from tabnas.data._text_reader import DecimalCommas, read_typed, with_points
from tabnas.data._values import (
    RowError,
    absent,
    coded_texts,
    decoded,
    is_moment,
    is_text,
    rename_rows,
)

__all__ = [
    "PANDAS_INDEX",
    "DecimalCommas",
    "RowError",
    "SeparatedForm",
    "absent",
    "coded_texts",
    "decoded",
    "holds_classes",
    "is_moment",
    "is_text",
    "looks_like_identifier",
    "opened",
    "read_ahead",
    "read_typed",
    "reading",
    "rename_rows",
    "separated_form",
    "table_ending",
    "with_points",
]
