"""Files to tables: CSV and TSV (also gzipped), Parquet, Feather, and Criteo's own format."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabnas.data._table import Table
from tabnas.errors import TabnasError

if TYPE_CHECKING:
    import pyarrow as pa

MISSING_MARKS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A")
"""Texts that mean a missing value, wherever they stand for a whole one."""

CRITEO_COLUMNS = ("label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27)))
"""The names of the 40 columns of Criteo's tab-separated files, which have no header."""


def read_table(path: str | Path) -> Table:
    """Read a file by its ending: .csv, .tsv, .txt (Criteo), each also .gz, .parquet, .feather."""
    path = Path(path)
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    reader = READERS.get(endings[-1] if endings else "")
    if reader is None:
        raise TabnasError(
            f"{path.name!r} must end in one of {', '.join(READERS)} to be read as a table"
        )
    if not path.exists():
        raise TabnasError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise TabnasError(f"{str(path)!r} is a folder, not a file")
    if path.stat().st_size == 0:
        raise TabnasError(f"{path.name!r} is empty")
    try:
        table = reader(path)
    except OSError as error:
        raise TabnasError(f"{path.name!r} cannot be read: {_sentence(error)}") from None
    if len(table) == 0:
        raise TabnasError(f"{path.name!r} has column names but no rows")
    return table


def _read_separated(path: Path, *, delimiter: str, names: tuple[str, ...] = ()) -> Table:
    """Let Arrow find the types; a column whose later rows contradict its first ones is text."""
    import pyarrow as pa
    from pyarrow import csv

    text_columns: dict[str, pa.DataType] = {}
    header = list(names) or _header(path, delimiter)
    while True:
        try:
            arrow = csv.read_csv(
                path,
                read_options=csv.ReadOptions(column_names=header, skip_rows=0 if names else 1),
                parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=not names),
                convert_options=csv.ConvertOptions(
                    null_values=list(MISSING_MARKS),
                    strings_can_be_null=True,
                    column_types=text_columns,
                    true_values=["true", "True", "TRUE"],
                    false_values=["false", "False", "FALSE"],
                ),
            )
            # Arrow takes a column that is no UTF-8 for bytes
            broken = [field.name for field in arrow.schema if pa.types.is_binary(field.type)]
            if broken:
                raise TabnasError(_not_utf8(path, f"the column {broken[0]!r}"))
            return Table(arrow)
        except pa.ArrowInvalid as error:
            column = re.search(r"In CSV column #(\d+)", str(error))
            name = header[int(column[1])] if column else None
            if name is None or name in text_columns or "invalid UTF8" in str(error):
                raise TabnasError(_csv_problem(path, str(error), header)) from None
            text_columns[name] = pa.string()


def _header(path: Path, delimiter: str) -> list[str]:
    """The names in the first line, checked before any data is read."""
    import csv
    import gzip

    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as file:
        line = file.readline()
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TabnasError(_not_utf8(path, "its first line")) from None
    names = next(csv.reader([text], delimiter=delimiter), [])
    names = [name.strip() for name in names]
    for i, name in enumerate(names):
        if not name:
            raise TabnasError(f"column {i + 1} of {path.name!r} has no name in the first line")
        if name in names[:i]:
            raise TabnasError(f"{path.name!r} has several columns called {name!r}; rename them")
    return names


def _csv_problem(path: Path, problem: str, header: list[str]) -> str:
    """Arrow's complaint in words that say what to do."""
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", problem)
    if ragged:
        row = f"row {ragged[1]}" if ragged[1] else "a row"
        return (
            f"{path.name!r} must have {ragged[2]} values in every row, as its first line has, "
            f"however {row} has {ragged[3]}; a value that holds the separator needs quotes"
        )
    if "UTF8" in problem:
        column = re.search(r"In CSV column #(\d+)", problem)
        where = f"the column {header[int(column[1])]!r}" if column else "a value"
        return _not_utf8(path, where)
    return f"{path.name!r} cannot be read: {_sentence(problem)}"


def _not_utf8(path: Path, where: str) -> str:
    return f"{path.name!r} must be UTF-8, however {where} is not; save the file as UTF-8"


def _read_parquet(path: Path) -> Table:
    from pyarrow import parquet

    return Table(parquet.read_table(path, memory_map=True))


def _read_feather(path: Path) -> Table:
    from pyarrow import feather

    return Table(feather.read_table(path, memory_map=True))


def _guarded(read: Callable[[Path], Table]) -> Callable[[Path], Table]:
    """Arrow's errors on broken binary files, as ours."""

    def reader(path: Path) -> Table:
        import pyarrow as pa

        try:
            return read(path)
        except pa.ArrowException as error:
            raise TabnasError(f"{path.name!r} cannot be read: {_sentence(error)}") from None

    return reader


def _sentence(error: object) -> str:
    return str(error).splitlines()[0].rstrip(".")


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": lambda path: _read_separated(path, delimiter=","),
    ".tsv": lambda path: _read_separated(path, delimiter="\t"),
    ".txt": lambda path: _read_separated(path, delimiter="\t", names=CRITEO_COLUMNS),
    ".parquet": _guarded(_read_parquet),
    ".feather": _guarded(_read_feather),
}
