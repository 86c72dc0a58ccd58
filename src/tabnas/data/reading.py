"""What it takes to read a table bit by bit, for rooms that do.

Whoever has a table in memory needs none of this: `read_table` and `TableEncoder` are enough.
"""

from __future__ import annotations

from tabnas.data._kinds import looks_like_identifier
from tabnas.data._readers import reading, separated_form, table_ending
from tabnas.data._separated import SeparatedForm, decimal_commas, opened, read_typed
from tabnas.data._stored import PANDAS_INDEX
from tabnas.data._targets import holds_classes
from tabnas.data._values import RowError, absent, coded_texts, decoded, is_moment, is_text

__all__ = [
    "PANDAS_INDEX",
    "RowError",
    "SeparatedForm",
    "absent",
    "coded_texts",
    "decimal_commas",
    "decoded",
    "holds_classes",
    "is_moment",
    "is_text",
    "looks_like_identifier",
    "opened",
    "read_typed",
    "reading",
    "separated_form",
    "table_ending",
]
