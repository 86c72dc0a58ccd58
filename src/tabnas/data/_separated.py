"""How separated text (CSV, TSV) is written: the header, the separator, what is wrong with it."""

from __future__ import annotations

import codecs
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
from tabnas.errors import TabNASError

SEPARATORS = (",", ";", "\t", "|")
EUROPEAN = ";"  # separates values where the comma separates decimals
SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?')  # Excel's, before the header
MOST_LINES = 64  # that are looked at to find the header


def find_form(path: Path, *, separator: str, names: Sequence[str] = ()) -> SeparatedForm:
    """How a file is written; the types are left to Arrow."""
    if names:
        return SeparatedForm(separator=separator, header=tuple(names), skip=0, newlines=False)
    lines = _first_lines(path)
    told = SEPARATOR_LINE.fullmatch(_text(lines[0]).strip())
    lines = lines[1:] if told and len(lines) > 1 else lines
    separator = told[1] if told else find_separator(list(map(_text, lines)), separator)
    header, length = _records(list(map(_text, lines)), separator)[0]
    try:
        b"".join(lines[:length]).decode()
    except UnicodeDecodeError:
        raise TabNASError(not_utf8(path, "its first line")) from None
    header = checked_names(repr(path.name), [" ".join(name.split()) for name in header])
    skip = length + bool(told)
    return SeparatedForm(separator=separator, header=tuple(header), skip=skip, newlines=True)


def find_separator(lines: Sequence[str], default: str) -> str:
    """The separator that splits the header into most names, and the next line into as many.

    >>> find_separator(["name;price, EUR;sold", "tea;1,50;true"], ",")
    ';'
    """
    widths = {
        separator: {len(cells) for cells, _ in _records(lines, separator)}
        for separator in SEPARATORS
    }
    fitting = {s: min(width) for s, width in widths.items() if len(width) == 1 and width != {1}}
    return max(fitting, key=lambda s: (fitting[s], s == default)) if fitting else default


def _first_lines(path: Path) -> list[bytes]:
    """The lines of the header, of which quotes may make several, and those of the first row."""
    with opened(path) as file:
        start = b"".join(file.readline() for _ in range(MOST_LINES))
    return start.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True) or [b""]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _records(lines: Sequence[str], separator: str) -> list[tuple[list[str], int]]:
    """The header, and the first row if there is one that ends: cells, and where its lines end."""
    reader = python_csv.reader(lines, delimiter=separator)
    found: list[tuple[list[str], int]] = []
    try:
        for cells in reader:
            begun = found[-1][1] if found else 0
            endless = reader.line_num == MOST_LINES and reader.line_num > begun + 1
            if not found and endless:  # a quote that is meant as such
                return [(lines[0].rstrip("\r\n").split(separator), 1)]
            if not endless and (cells or not found):
                found.append((cells or [""], reader.line_num))
            if len(found) == 2:
                break
    except python_csv.Error:  # a value of more than 128 kB
        return [(line.rstrip("\r\n").split(separator), k + 1) for k, line in enumerate(lines[:2])]
    return found


def opened(path: Path) -> Any:
    """The bytes of a file, of what it holds if it is gzipped."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


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
                # marks among texts are left to whoever knows what the column means
                strings_can_be_null=False,
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
                f"but {row} has {ragged[3]}; a value that holds the separator needs quotes"
            )
        if "UTF8" in problem:
            column = re.search(r"In CSV column #(\d+)", problem)
            where = f"the column {self.header[int(column[1])]!r}" if column else "a value"
            return not_utf8(path, where)
        return f"{path.name!r} cannot be read: {problem.splitlines()[0].rstrip('.')}"


def not_utf8(path: Path, where: str) -> str:
    """The sentence about a file in another encoding."""
    return f"{path.name!r} must be UTF-8, but {where} is not; save the file as UTF-8"
