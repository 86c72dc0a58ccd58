"""The format of a CSV or TSV file: header, separator, types; and what errors about it mean."""

from __future__ import annotations

import codecs
import csv as python_csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from tabnas.data._table import check_names
from tabnas.data._values import NA_VALUES
from tabnas.errors import TabNASError
from tabnas.formatting import format_count

SEPARATORS = (",", ";", "\t", "|")
BINARY_FORMATS = {".parquet": "Parquet", ".feather": "Feather"}
SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?')  # Excel's, before the header
RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)(?:: (.*))?", re.DOTALL)
COMPRESSED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\xfd7zXZ": "xz"}
MAX_HEADER_LINES = 64  # that are looked at to find the header


def detect_csv_format(path: Path, *, separator: str, names: Sequence[str] = ()) -> CsvFormat:
    """Find the header and the separator of a file; types are left to Arrow."""
    _check_uncompressed(path)
    if names:
        return CsvFormat(separator=separator, header=tuple(names), skip=0, allows_newlines=False)
    lines = _read_first_lines(path)
    declared = SEPARATOR_LINE.fullmatch(_decode(lines[0]).strip(" \r\n"))
    lines = lines[1:] if declared and len(lines) > 1 else lines
    separator = declared[1] if declared else detect_separator(list(map(_decode, lines)), separator)
    header, length = _parse_first_records(list(map(_decode, lines)), separator)[0]
    try:
        b"".join(lines[:length]).decode()
    except UnicodeDecodeError:
        raise TabNASError(describe_encoding_error(path, "its first line")) from None
    header = check_names(repr(path.name), [" ".join(name.split()) for name in header])
    skip = length + bool(declared)
    return CsvFormat(separator=separator, header=tuple(header), skip=skip, allows_newlines=True)


def _check_uncompressed(path: Path) -> None:
    """Refuse a file that begins as a compressed one, unless its name says so."""
    if is_zipped(path):
        return
    with path.open("rb") as file:
        start = file.read(8)
    for magic, name in COMPRESSED.items():
        if start.startswith(magic):
            remedy = f", or let its name end in {path.suffix}.gz" if name == "gzip" else ""
            raise TabNASError(
                f"{path.name!r} must be text, but it is compressed by {name}; unpack it{remedy}"
            )


def detect_separator(lines: Sequence[str], default: str) -> str:
    """Return the separator that splits the header into most names and the next line into as many.

    >>> detect_separator(["name;price, EUR;sold", "tea;1,50;true"], ",")
    ';'
    """
    widths = {
        separator: {len(cells) for cells, _ in _parse_first_records(lines, separator)}
        for separator in SEPARATORS
    }
    fitting = {s: min(width) for s, width in widths.items() if len(width) == 1 and width != {1}}
    return max(fitting, key=lambda s: (fitting[s], s == default)) if fitting else default


def _read_first_lines(path: Path) -> list[bytes]:
    """Read the lines of the header, which quotes may make several, and of the first row."""
    with open_file(path) as file:
        start = b"".join(file.readline() for _ in range(MAX_HEADER_LINES))
    return start.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True) or [b""]


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _parse_first_records(lines: Sequence[str], separator: str) -> list[tuple[list[str], int]]:
    """Return the cells of the header and of the first row, if complete, and where each ends."""
    reader = python_csv.reader(lines, delimiter=separator)
    records: list[tuple[list[str], int]] = []
    try:
        for cells in reader:
            begun = records[-1][1] if records else 0
            endless = reader.line_num == MAX_HEADER_LINES and reader.line_num > begun + 1
            if not records and endless:  # the quote is part of a value
                return [(lines[0].rstrip("\r\n").split(separator), 1)]
            if not endless and (cells or not records):
                records.append((cells or [""], reader.line_num))
            if len(records) == 2:
                break
    except python_csv.Error:  # a value of more than 128 kB
        return [(line.rstrip("\r\n").split(separator), k + 1) for k, line in enumerate(lines[:2])]
    return records


def is_zipped(path: Path) -> bool:
    """Return whether a file is gzipped."""
    return path.suffix.lower() == ".gz"


def open_file(path: Path) -> Any:
    """Open a file for reading bytes, unzipped if it is gzipped."""
    return gzip.open(path, "rb") if is_zipped(path) else path.open("rb")


@contextmanager
def translate_read_errors(path: Path, *, arrow: bool = True) -> Iterator[None]:
    """Name the file in errors about reading it; with `arrow=False`, not in those of Arrow."""
    try:
        yield
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, pa.ArrowException) as error:
        if isinstance(error, pa.ArrowException) and not arrow:
            raise
        problem = (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")
        name = BINARY_FORMATS.get(path.suffix.lower())
        if name is not None and isinstance(error, pa.ArrowInvalid):
            problem = f"it is not a {name} file, or it is incomplete or damaged"
        raise TabNASError(
            f"{path.name!r} cannot be read: {problem}; write it once more, or name another"
        ) from None


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """The format of a file, as far as it is known."""

    separator: str
    header: tuple[str, ...]
    skip: int  # lines before the first row
    allows_newlines: bool  # whether quoted values may hold some
    types: Mapping[str, pa.DataType] = field(default_factory=dict)  # not left to Arrow

    @property
    def suggests_decimal_commas(self) -> bool:
        """Whether the separator suggests decimal commas, so that 1.500 may be 1,500."""
        return self.separator == ";"

    def options(self, *, only: Sequence[str] = (), **read: Any) -> dict[str, Any]:
        """Return the options of Arrow's readers; `only` selects columns, if it names any."""
        return {
            "read_options": csv.ReadOptions(
                column_names=list(self.header), skip_rows=self.skip, **read
            ),
            "parse_options": csv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=self.allows_newlines,
                # an empty line of a single column is a row whose value is missing
                ignore_empty_lines=len(self.header) > 1,
            ),
            "convert_options": csv.ConvertOptions(
                null_values=list(NA_VALUES),
                # texts that mean a missing value are handled later, when the kind is known
                strings_can_be_null=False,
                column_types=dict(self.types),
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                include_columns=list(only),
            ),
        }

    def describe_problem(self, path: Path, problem: str) -> str:
        """Return what an error of Arrow's means, and what to do."""
        ragged = RAGGED.search(problem)
        if ragged:
            number, expected, actual, text = ragged.groups()
            row = f"row {int(number) - self.skip}" if number else "a row"
            if int(actual) < int(expected) and (text or "").count('"') % 2:
                return (
                    f"{path.name!r} must close every quote, but {row} leaves one open; double a "
                    "quote that is meant as such, and quote its value"
                )
            values = format_count(int(expected), "value")
            if not self.skip:  # the names are fixed by the format
                return (
                    f"{path.name!r} must have {values} in every row and no names above them, as "
                    f"Criteo's .txt files have, but {row} has {actual}; call a table with names "
                    ".csv or .tsv"
                )
            remedy = (
                "remove a title or comment above the names of the columns"
                if len(self.header) == 1 or self.header[0].startswith("#")
                else "a value that holds the separator needs quotes"
            )
            return (
                f"{path.name!r} must have {values} in every row, as its first line has, but {row} "
                f"has {actual}; {remedy}"
            )
        if "straddling" in problem:
            return (
                f"{path.name!r} must close every quote and end its lines, but a record is longer "
                "than 256 MB; double a quote that is meant as such, and quote its value"
            )
        if "UTF8" in problem:
            column = re.search(r"In CSV column #(\d+)", problem)
            where = f"the column {self.header[int(column[1])]!r}" if column else "a value"
            return describe_encoding_error(path, where)
        return f"{path.name!r} cannot be read: {problem.splitlines()[0].rstrip('.')}"


def describe_encoding_error(path: Path, where: str) -> str:
    """Return the message about a file in another encoding."""
    return f"{path.name!r} must be UTF-8, but {where} is not; save the file as UTF-8"
