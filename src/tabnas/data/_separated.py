"""How separated text (CSV, TSV) is written: the header, the separator, what is wrong with it."""

from __future__ import annotations

import csv as python_csv
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from tabnas.data._table import checked_names
from tabnas.data._values import MISSING_MARKS
from tabnas.errors import TabnasError

SEPARATORS = (",", ";", "\t", "|")
EUROPEAN = ";"  # separates values where the comma separates decimals


def find_form(path: Path, *, separator: str, names: Sequence[str] = ()) -> SeparatedForm:
    """How a file is written; the types are left to Arrow."""
    if names:
        return SeparatedForm(separator=separator, header=tuple(names), skip=0, newlines=False)
    lines = _first_lines(path)
    separator = find_separator(lines, separator)
    header = checked_names(repr(path.name), _cells(lines[0], separator))
    return SeparatedForm(separator=separator, header=tuple(header), skip=1, newlines=True)


def find_separator(lines: Sequence[str], default: str) -> str:
    """The separator that splits the header into most names, and the next line into as many.

    >>> find_separator(["name;price, EUR;sold", "tea;1,50;true"], ",")
    ';'
    """
    widths = {
        separator: {len(_cells(line, separator)) for line in lines} for separator in SEPARATORS
    }
    fitting = {s: min(width) for s, width in widths.items() if len(width) == 1 and width != {1}}
    return max(fitting, key=lambda s: (fitting[s], s == default)) if fitting else default


def _first_lines(path: Path) -> list[str]:
    """The header and the first row, if there is one."""
    with opened(path) as file:
        start: bytes = file.readline() + file.readline()
    first, *rest = re.split(rb"\r\n|\n|\r", start)
    try:
        header = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TabnasError(not_utf8(path, "its first line")) from None
    return [header, *(line.decode("utf-8", "replace") for line in rest[:1] if line)]


def opened(path: Path) -> Any:
    """The bytes of a file, of what it holds if it is gzipped."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(python_csv.reader([line], delimiter=separator)) or [""]
    except python_csv.Error:  # a value of more than 128 kB
        return line.split(separator)


@dataclass(frozen=True, kw_only=True)
class SeparatedForm:
    """How a file is written, as far as it is known."""

    separator: str
    header: tuple[str, ...]
    skip: int  # lines before the first row
    newlines: bool  # whether quoted values may hold some
    types: Mapping[str, pa.DataType] = field(default_factory=dict)  # not left to Arrow

    def options(self, *, only: Sequence[str] = (), **read: Any) -> dict[str, Any]:
        """For Arrow's readers; `only` some of the columns, if it names any."""
        return {
            "read_options": csv.ReadOptions(
                column_names=list(self.header), skip_rows=self.skip, **read
            ),
            "parse_options": csv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=self.newlines,
                # an empty line of a single column is a row whose value is missing
                ignore_empty_lines=len(self.header) > 1,
            ),
            "convert_options": csv.ConvertOptions(
                null_values=list(MISSING_MARKS),
                strings_can_be_null=True,
                column_types=dict(self.types),
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                include_columns=list(only),
            ),
        }

    def problem(self, path: Path, problem: str, *, rows_before: int = 0) -> str:
        """Arrow's complaint in words that say what to do."""
        ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", problem)
        if ragged:
            row = f"row {int(ragged[1]) - self.skip + rows_before}" if ragged[1] else "a row"
            return (
                f"{path.name!r} must have {ragged[2]} values in every row, as its first line has, "
                f"however {row} has {ragged[3]}; a value that holds the separator needs quotes"
            )
        if "UTF8" in problem:
            column = re.search(r"In CSV column #(\d+)", problem)
            where = f"the column {self.header[int(column[1])]!r}" if column else "a value"
            return not_utf8(path, where)
        return f"{path.name!r} cannot be read: {problem.splitlines()[0].rstrip('.')}"


def not_utf8(path: Path, where: str) -> str:
    """The sentence about a file in another encoding."""
    return f"{path.name!r} must be UTF-8, however {where} is not; save the file as UTF-8"
