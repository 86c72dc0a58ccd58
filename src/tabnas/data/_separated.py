"""Separated text (CSV, TSV): the header, the separator, and Arrow's complaints in our words."""

from __future__ import annotations

import csv as python_csv
import gzip
import re
from collections import deque
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tabnas.data._table import Table, checked_names
from tabnas.data._values import MISSING_MARKS, RowError, are_numbers, texts
from tabnas.errors import TabnasError

SEPARATORS = (",", ";", "\t", "|")
EUROPEAN = ";"  # separates values where the comma separates decimals


def read_separated(
    path: Path, *, separator: str, names: Sequence[str] = (), text: Collection[str] = ()
) -> Table:
    """Let Arrow find the types; a column whose later rows contradict its first ones is text.

    The header decides the separator, if it can be seen there, and `separator` if not. With
    `names`, there is no header. The columns `text` are read as they are written.
    """
    header, skip = list(names), 0 if names else 1
    if not names:
        lines = _first_lines(path)
        separator = find_separator(lines, separator)
        header = checked_names(repr(path.name), _cells(lines[0], separator))
    text_columns = {name: pa.string() for name in header if name in text}
    while True:
        try:
            arrow = _read(path, separator, header, text_columns, skip=skip)
            return Table(_checked(path, arrow, separator))
        except pa.ArrowInvalid as error:
            column = re.search(r"In CSV column #(\d+)", str(error))
            name = header[int(column[1])] if column else None
            if name is None or name in text_columns or "invalid UTF8" in str(error):
                raise TabnasError(_problem(path, str(error), header, skip)) from None
            text_columns[name] = pa.string()


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
    with _opened(path) as file:
        start: bytes = file.readline() + file.readline()
    first, *rest = re.split(rb"\r\n|\n|\r", start)
    try:
        header = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TabnasError(_not_utf8(path, "its first line")) from None
    return [header, *(line.decode("utf-8", "replace") for line in rest[:1] if line)]


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(python_csv.reader([line], delimiter=separator)) or [""]
    except python_csv.Error:  # a value of more than 128 kB
        return line.split(separator)


def _read(
    path: Path, separator: str, header: list[str], types: dict[str, pa.DataType], *, skip: int
) -> pa.Table:
    def read(*, threads: bool) -> pa.Table:
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=header, skip_rows=skip, use_threads=threads),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=skip > 0),
            convert_options=csv.ConvertOptions(
                null_values=list(MISSING_MARKS),
                strings_can_be_null=True,
                column_types=types,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )

    try:
        return read(threads=True)
    except pa.ArrowInvalid as error:
        if "columns, got" not in str(error):
            raise
        return read(threads=False)  # knows which row it is in


def _checked(path: Path, arrow: pa.Table, separator: str) -> pa.Table:
    """Refuse what is no text, and read decimal commas where they are in use."""
    if _ends_in_quotes(path, arrow):
        raise TabnasError(
            f"{path.name!r} must close every quote, however its row {arrow.num_rows} runs to the "
            "end of the file; double a quote that is meant as such, and quote its value"
        )
    for i, field in enumerate(arrow.schema):
        if pa.types.is_binary(field.type):  # so Arrow takes a column that is no UTF-8
            raise TabnasError(_not_utf8(path, f"the column {field.name!r}"))
        if not pa.types.is_string(field.type):
            continue
        column = arrow.column(i)
        holds_nul = pc.match_substring(column, "\0")
        if pc.any(holds_nul).as_py():
            raise RowError(
                f"{path.name!r} must be text, however the column {field.name!r} in",
                pc.index(holds_nul, True).as_py(),
                "holds a zero byte; save the file as UTF-8",
            )
        if separator == EUROPEAN and pc.any(pc.match_substring(column, ",")).as_py():
            points = pc.replace_substring(texts(column), ",", ".")
            if are_numbers(points):
                arrow = arrow.set_column(i, field.name, points.cast(pa.float64()))
    return arrow


def _ends_in_quotes(path: Path, arrow: pa.Table) -> bool:
    """Whether the last value swallowed the rest of the file, which Arrow does not mind."""
    last = arrow.columns[-1][-1].as_py() if arrow.num_rows else None
    if not isinstance(last, str) or "\n" not in last:
        return False
    with _opened(path) as file:
        (line,) = deque((line for line in file if line.strip()), maxlen=1)
    return not line.rstrip().endswith(b'"')


def _problem(path: Path, problem: str, header: list[str], skip: int) -> str:
    """Arrow's complaint in words that say what to do."""
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", problem)
    if ragged:
        row = f"row {int(ragged[1]) - skip}" if ragged[1] else "a row"
        return (
            f"{path.name!r} must have {ragged[2]} values in every row, as its first line has, "
            f"however {row} has {ragged[3]}; a value that holds the separator needs quotes"
        )
    if "UTF8" in problem:
        column = re.search(r"In CSV column #(\d+)", problem)
        where = f"the column {header[int(column[1])]!r}" if column else "a value"
        return _not_utf8(path, where)
    return f"{path.name!r} cannot be read: {problem.splitlines()[0].rstrip('.')}"


def _not_utf8(path: Path, where: str) -> str:
    return f"{path.name!r} must be UTF-8, however {where} is not; save the file as UTF-8"
