"""What it takes to read a table bit by bit, for rooms that do.

Whoever has a table in memory needs none of this: `read_table` and `TableEncoder` are enough.
"""

from __future__ import annotations

from tabnas.data._kinds import (
    Meaning,
    identifier_note,
    looks_like_identifier,
    meaning_of,
    meaning_of_texts,
)
from tabnas.data._number_text import (
    POINT,
    DecimalContext,
    DecimalMarks,
    NumberFormat,
    refuse_other_marks,
)
from tabnas.data._readers import reading, separated_form, table_ending
from tabnas.data._separated import SeparatedForm, opened
from tabnas.data._stored import PANDAS_INDEX
from tabnas.data._table import read_ahead, settle_decimals
from tabnas.data._target_rows import label_note, target_marks
from tabnas.data._targets import fit_number_format, holds_classes
from tabnas.data._text_reader import (
    add_decimals,
    as_numbers,
    decimals_of,
    find_leading_zeros,
    is_european,
    read_typed,
)
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
    "POINT",
    "DecimalContext",
    "DecimalMarks",
    "Meaning",
    "NumberFormat",
    "RowError",
    "SeparatedForm",
    "absent",
    "add_decimals",
    "as_numbers",
    "coded_texts",
    "decimals_of",
    "decoded",
    "find_leading_zeros",
    "fit_number_format",
    "holds_classes",
    "identifier_note",
    "is_european",
    "is_moment",
    "is_text",
    "label_note",
    "looks_like_identifier",
    "meaning_of",
    "meaning_of_texts",
    "opened",
    "read_ahead",
    "read_typed",
    "reading",
    "refuse_other_marks",
    "rename_rows",
    "separated_form",
    "settle_decimals",
    "table_ending",
    "target_marks",
]
