"""Read tables from files: CSV and TSV (also gzipped), Parquet, Feather, and Criteo's format."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from tabnas.data._arrow_files import read_feather, read_parquet
from tabnas.data._number_text import check_decimal_mark
from tabnas.data._table import Table, set_decimal_mark
from tabnas.data.csv_files import (
    BINARY_FORMATS,
    CsvFormat,
    FractionCallback,
    detect_csv_format,
    read_csv,
    translate_read_errors,
)
from tabnas.errors import TabNASError, find_nearest

MAX_NAMES_SHOWN = 5

CRITEO_COLUMNS = ("label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27)))
"""The names of the 40 columns of Criteo's tab-separated files, which have no header."""


def read_table(
    path: str | Path,
    *,
    text: Collection[str] = (),
    decimal: str | None = None,
    empty: bool = False,
    on_progress: FractionCallback = lambda fraction: None,
) -> Table:
    """Read a file by its ending: .csv, .tsv, .txt (Criteo), each also .gz, .parquet, .feather.

    In a CSV file, the columns `text` are read as texts ("007" is not 7), and the separator may also
    be a semicolon, a tab or a bar, as the first line shows. If 1.234 could be a fraction or more
    than a thousand, `decimal` decides it: "." or ",". A table without rows is an error unless
    `empty` is true.

    A table of more than 64 MB is not held in memory: its columns are read when they are used, and
    `Table.iter_batches` reads all of it a batch at a time. For that, a large CSV file is copied
    once to a temporary Parquet file; meanwhile `on_progress` is called with the fraction that is
    done.
    """
    path = Path(path)
    ending = check_table_file(path)
    check_decimal_mark(decimal)
    with translate_read_errors(path):
        table = READERS[ending](path, text=text, decimal=decimal, on_progress=on_progress)
    if len(table) == 0 and not empty:
        raise TabNASError(f"{path.name!r} must have rows, but it has column names only")
    return table


def check_table_file(path: Path) -> str:
    """Return the ending of a file without .gz; raise an error if it is not a table."""
    if not path.exists():
        raise TabNASError(f"there is no file {str(path)!r}{_suggest_files(path)}")
    if path.is_dir():
        raise TabNASError(f"{str(path)!r} is a folder, not a file; name a file in it")
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    if not endings or endings[-1] not in READERS:
        zipped = ", ".join(f"{ending}.gz" for ending in READERS if ending not in BINARY_FORMATS)
        raise TabNASError(
            f"{path.name!r} must end in one of {', '.join(READERS)}, {zipped} to be read as a "
            "table; save it as one of them, for example as .csv"
        )
    with translate_read_errors(path):
        if path.stat().st_size == 0:
            raise TabNASError(f"{path.name!r} is empty; a table needs a line of names and rows")
    return endings[-1]


def find_csv_format(path: Path) -> CsvFormat:
    """Return how a file of separated text is written."""
    reader = READERS[check_table_file(path)]
    assert isinstance(reader, partial), f"{path} is not a text file"
    with translate_read_errors(path):
        return detect_csv_format(path, **reader.keywords)


def _suggest_files(path: Path) -> str:
    """Suggest a file of nearly that name in the same folder, or list the tables there."""
    try:
        there = [
            other.name for other in path.parent.iterdir() if set(other.suffixes) & set(READERS)
        ]
    except OSError:
        return f", for there is no folder {str(path.parent)!r}; name another"
    close = find_nearest(path.name, there, cutoff=0.75)
    if close is not None:
        return f"; did you mean {str(path.with_name(close))!r}?"
    where = "here" if path.parent == Path() else f"in {str(path.parent)!r}"
    listed = ", ".join(sorted(there)[:MAX_NAMES_SHOWN]) + (
        "…" if len(there) > MAX_NAMES_SHOWN else ""
    )
    return f"; tables {where}: {listed}" if there else f"; there are no tables {where}"


def _read_parquet(path: Path, *, decimal: str | None, **others: Any) -> Table:
    return set_decimal_mark(read_parquet(path), decimal)


def _read_feather(path: Path, *, decimal: str | None, **others: Any) -> Table:
    return set_decimal_mark(read_feather(path), decimal)


READERS: dict[str, Callable[..., Table]] = {
    ".csv": partial(read_csv, separator=","),
    ".tsv": partial(read_csv, separator="\t"),
    ".txt": partial(read_csv, separator="\t", names=CRITEO_COLUMNS),
    ".parquet": _read_parquet,
    ".feather": _read_feather,
}
