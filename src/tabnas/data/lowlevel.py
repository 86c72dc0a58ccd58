"""The parts of reading and encoding a table, for packages that do it chunk by chunk.

With a table in memory, `read_table` and `TableEncoder` are enough.
"""

from __future__ import annotations

from tabnas.data._arrow_files import PANDAS_INDEX
from tabnas.data._kinds import (
    ColumnSchema,
    describe_identifier,
    infer_schema,
    infer_text_schema,
    looks_like_identifier,
)
from tabnas.data._number_text import (
    DEFAULT_NUMBER_FORMAT,
    DecimalContext,
    DecimalMarkDetector,
    NumberFormat,
    are_number_like,
    check_decimal_mark,
)
from tabnas.data._readers import check_table_file, find_csv_format
from tabnas.data._table import read_ahead, set_decimal_mark
from tabnas.data._targets import (
    MAX_INTEGER_CLASSES,
    describe_labels,
    find_na_values,
    fit_number_format,
    holds_classes,
)
from tabnas.data._values import (
    RowError,
    decode_dictionary,
    factorize_texts,
    is_datetime_type,
    is_missing,
    is_numeric_type,
    is_text,
    renumber_rows,
    to_numbers,
)
from tabnas.data.csv_files import (
    CsvFormat,
    FileStart,
    detect_decimal_marks,
    is_contradiction,
    make_decimal_context,
    open_batches,
    parse_numbers,
    read_typed,
    read_with_larger_blocks,
    translate_read_errors,
)

__all__ = [
    "DEFAULT_NUMBER_FORMAT",
    "MAX_INTEGER_CLASSES",
    "PANDAS_INDEX",
    "ColumnSchema",
    "CsvFormat",
    "DecimalContext",
    "DecimalMarkDetector",
    "FileStart",
    "NumberFormat",
    "RowError",
    "are_number_like",
    "check_decimal_mark",
    "check_table_file",
    "decode_dictionary",
    "describe_identifier",
    "describe_labels",
    "detect_decimal_marks",
    "factorize_texts",
    "find_csv_format",
    "find_na_values",
    "fit_number_format",
    "holds_classes",
    "infer_schema",
    "infer_text_schema",
    "is_contradiction",
    "is_datetime_type",
    "is_missing",
    "is_numeric_type",
    "is_text",
    "looks_like_identifier",
    "make_decimal_context",
    "open_batches",
    "parse_numbers",
    "read_ahead",
    "read_typed",
    "read_with_larger_blocks",
    "renumber_rows",
    "set_decimal_mark",
    "to_numbers",
    "translate_read_errors",
]
