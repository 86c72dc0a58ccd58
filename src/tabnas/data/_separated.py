"""Separated text (CSV, TSV): the header, the separator, and Arrow's complaints in our words."""

from __future__ import annotations

import csv as python_csv
import gzip
import os
import re
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from tabnas.data._stored import LARGE, stored_table
from tabnas.data._table import Table, checked_names
from tabnas.data._values import MISSING_MARKS, RowError, are_numbers, texts
from tabnas.errors import TabnasError

SEPARATORS = (",", ";", "\t", "|")
EUROPEAN = ";"  # separates values where the comma separates decimals
BLOCK = 16 << 20  # bytes of a large file that are in memory at a time


def read_separated(
    path: Path, *, separator: str, names: Sequence[str] = (), text: Collection[str] = ()
) -> Table:
    """Let Arrow find the types; a column whose later rows contradict its first ones is text.

    The header decides the separator, if it can be seen there, and `separator` if not. With
    `names`, there is no header. The columns `text` are read as they are written.
    """
    form = find_form(path, separator=separator, names=names)
    form = replace(form, types={name: pa.string() for name in form.header if name in text})
    read = _spooled if path.stat().st_size >= LARGE else _read
    return _checked(path, read_typed(path, form, partial(read, path)), form.separator)


def find_form(path: Path, *, separator: str, names: Sequence[str] = ()) -> SeparatedForm:
    """How a file is written; the types are left to Arrow."""
    if names:
        return SeparatedForm(separator=separator, header=tuple(names), skip=0, newlines=False)
    lines = _first_lines(path)
    separator = find_separator(lines, separator)
    header = checked_names(repr(path.name), _cells(lines[0], separator))
    return SeparatedForm(separator=separator, header=tuple(header), skip=1, newlines=True)


def read_typed(path: Path, form: SeparatedForm, read: Callable[[SeparatedForm], Any]) -> Any:
    """What `read` gives once every column has a type that all of its values bear."""
    types = dict(form.types)
    while True:
        try:
            return read(replace(form, types=types))
        except pa.ArrowInvalid as error:
            column = re.search(r"In CSV column #(\d+)", str(error))
            name = form.header[int(column[1])] if column else None
            if name is None or types.get(name) == pa.string() or "invalid UTF8" in str(error):
                raise TabnasError(form.problem(path, str(error))) from None
            whole = "error to int64" in str(error) and name not in types
            types[name] = pa.float64() if whole else pa.string()


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
        raise TabnasError(_not_utf8(path, "its first line")) from None
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
                delimiter=self.separator, newlines_in_values=self.newlines
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
            return _not_utf8(path, where)
        return f"{path.name!r} cannot be read: {problem.splitlines()[0].rstrip('.')}"


def _read(path: Path, form: SeparatedForm) -> Table:
    """The whole file at once."""
    try:
        return Table(csv.read_csv(path, **form.options(use_threads=True)))
    except pa.ArrowInvalid as error:
        if "columns, got" not in str(error):
            raise
        # one thread knows which row it is in
        return Table(csv.read_csv(path, **form.options(use_threads=False)))


def _spooled(path: Path, form: SeparatedForm) -> Table:
    """A large file by way of a temporary one, whose columns are then read when they are needed.

    The temporary file has no name any more once it is open, so nothing is left behind.
    """
    with tempfile.TemporaryDirectory(prefix="tabnas-") as folder:
        spool = Path(folder) / "table.parquet"
        writing = False
        try:
            with (
                csv.open_csv(path, **form.options(block_size=BLOCK)) as reader,
                parquet.ParquetWriter(spool, reader.schema, compression="lz4") as writer,
            ):
                for batch in reader:
                    writing = True
                    writer.write_batch(batch)
                    writing = False
                writing = True  # the end of it
        except pa.ArrowInvalid as error:
            if "columns, got" not in str(error):
                raise
            return _read(path, form)  # which names the row
        except OSError as error:
            if not writing:
                raise
            problem = os.strerror(error.errno) if error.errno else error
            raise TabnasError(
                f"{path.name!r} is read by way of a temporary file, since it is large, however "
                f"there is no room for that in {tempfile.gettempdir()!r} ({problem}); "
                "set TMPDIR to another folder"
            ) from None
        return stored_table(spool)


def _checked(path: Path, table: Table, separator: str) -> Table:
    """Refuse what is no text, and read decimal commas where they are in use."""
    if _ends_in_quotes(path, table):
        raise TabnasError(
            f"{path.name!r} must close every quote, however its row {len(table)} runs to the "
            "end of the file; double a quote that is meant as such, and quote its value"
        )
    for name in table:
        column = table.column(name)
        if pa.types.is_binary(column.type):  # so Arrow takes a column that is no UTF-8
            raise TabnasError(_not_utf8(path, f"the column {name!r}"))
        if not pa.types.is_string(column.type):
            continue
        holds_nul = pc.match_substring(column, "\0")
        if pc.any(holds_nul).as_py():
            raise RowError(
                f"{path.name!r} must be text, however the column {name!r} in",
                pc.index(holds_nul, True).as_py(),
                "holds a zero byte; save the file as UTF-8",
            )
    decimals = decimal_commas(table, separator)
    if not decimals:
        return table
    names = table.names
    return Table.lazy(
        names,
        len(table),
        lambda i: decimals[names[i]] if names[i] in decimals else table.column(names[i]),
    )


def decimal_commas(table: Table, separator: str) -> dict[str, pa.ChunkedArray]:
    """The numbers of the columns whose texts are numbers once commas are points."""
    decimals = {}
    for name in table.text_columns if separator == EUROPEAN else ():
        column = table.column(name)
        if pc.any(pc.match_substring(column, ",")).as_py():
            points = pc.replace_substring(texts(column), ",", ".")
            if are_numbers(points):
                decimals[name] = points.cast(pa.float64())
    return decimals


def _ends_in_quotes(path: Path, table: Table) -> bool:
    """Whether the last value swallowed the rest of the file, which Arrow does not mind."""
    last = table.column(table.names[-1])[-1].as_py() if len(table) else None
    if not isinstance(last, str) or "\n" not in last:
        return False
    with opened(path) as file:
        (line,) = deque((line for line in file if line.strip()), maxlen=1)
    return not line.rstrip().endswith(b'"')


def _not_utf8(path: Path, where: str) -> str:
    return f"{path.name!r} must be UTF-8, however {where} is not; save the file as UTF-8"
