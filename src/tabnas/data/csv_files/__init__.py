"""CSV and TSV files, read block by block, with types that hold for all rows."""

from __future__ import annotations

from tabnas.data.csv_files._blocks import (
    FractionCallback,
    open_batches,
    read_with_larger_blocks,
)
from tabnas.data.csv_files._decimals import (
    detect_decimal_marks,
    make_decimal_context,
    parse_numbers,
)
from tabnas.data.csv_files._format import (
    BINARY_FORMATS,
    CsvFormat,
    detect_csv_format,
    translate_read_errors,
)
from tabnas.data.csv_files._reader import read_csv
from tabnas.data.csv_files._start import FileStart
from tabnas.data.csv_files._types import is_contradiction, read_typed

__all__ = [
    "BINARY_FORMATS",
    "CsvFormat",
    "FileStart",
    "FractionCallback",
    "detect_csv_format",
    "detect_decimal_marks",
    "is_contradiction",
    "make_decimal_context",
    "open_batches",
    "parse_numbers",
    "read_csv",
    "read_typed",
    "read_with_larger_blocks",
    "translate_read_errors",
]
