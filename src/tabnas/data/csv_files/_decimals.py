"""The decimal mark of a file, and numbers that are written with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._conversion import as_chunks
from tabnas.data._number_text import DecimalContext, DecimalMarkDetector
from tabnas.data._values import to_texts
from tabnas.data.csv_files._format import CsvFormat


def detect_decimal_marks(detector: DecimalMarkDetector, rows: Any, names: Iterable[str]) -> None:
    """Look for decimal marks in some rows of the columns that may still be numbers."""
    for name in names:
        if detector.may_be_numeric(name):
            # most values are there more than once
            detector.add(name, to_texts(as_chunks(rows.column(name).unique())))


def make_decimal_context(
    csv_format: CsvFormat,
    mark: str | None,
    by_column: Mapping[str, str],
    shown: Mapping[str, str | None] | None = None,
) -> DecimalContext:
    """Return what a file shows of its decimal mark, and of the marks of some columns."""
    suggested = None if csv_format.suggests_decimal_commas else "."
    return DecimalContext(mark, suggested, by_column, shown or {})


def parse_numbers(decimal: str, column: Any) -> Any:
    """Parse texts with that decimal mark, without units and groups, as numbers."""
    return pc.replace_substring(to_texts(column), decimal, ".").cast(pa.float64())
