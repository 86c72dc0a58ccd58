"""Files to tables: CSV and TSV (also gzipped), Parquet, Feather, and Criteo's own format."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabnas.data._number_text import refuse_other_marks
from tabnas.data._separated import SeparatedForm, find_form
from tabnas.data._stored import read_feather, read_parquet
from tabnas.data._table import Table, settle_decimals
from tabnas.data._text_reader import Observer, read_separated
from tabnas.errors import TabNASError, find_nearest

MOST_NAMED = 5

CRITEO_COLUMNS = ("label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27)))
"""The names of the 40 columns of Criteo's tab-separated files, which have no header."""


def read_table(
    path: str | Path,
    *,
    text: Collection[str] = (),
    decimal: str | None = None,
    empty: bool = False,
    observe: Observer = lambda share: None,
) -> Table:
    """Read a file by its ending: .csv, .tsv, .txt (Criteo), each also .gz, .parquet, .feather.

    In a separated file, the columns `text` are read as they are written ("007" is not 7), and the
    separator may also be a semicolon, a tab or a bar, as the first line shows. Where it is not
    certain whether 1.234 is more than a thousand, `decimal` settles it: "." or ",". A table without
    rows is refused, unless `empty` allows it.

    A table of more than 64 MB is not held in memory: its columns are read when they are needed, and
    `Table.pieces` reads all of it a piece at a time. A large separated file is written to a
    temporary Parquet file for that, once, and meanwhile `observe` is told the share that is done.
    """
    path = Path(path)
    ending = table_ending(path)
    refuse_other_marks(decimal)
    with reading(path):
        table = READERS[ending](path, text=text, decimal=decimal, observe=observe)
    if len(table) == 0 and not empty:
        raise TabNASError(f"{path.name!r} must have rows, but it has column names only")
    return table


def table_ending(path: Path) -> str:
    """What tells how a file is read: its ending but for .gz; what is no table is refused."""
    if not path.exists():
        raise TabNASError(f"there is no file {str(path)!r}{_near(path)}")
    if path.is_dir():
        raise TabNASError(f"{str(path)!r} is a folder, not a file; name a file in it")
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    if not endings or endings[-1] not in READERS:
        raise TabNASError(
            f"{path.name!r} must end in one of {', '.join(READERS)} to be read as a table; save it "
            "as one of them, for example as .csv"
        )
    with reading(path):
        if path.stat().st_size == 0:
            raise TabNASError(f"{path.name!r} is empty; a table needs a line of names and rows")
    return endings[-1]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What a damaged or vanished file makes of its readers, in a sentence."""
    try:
        yield
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, pa.ArrowException) as error:
        problem = (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")
        raise TabNASError(
            f"{path.name!r} cannot be read: {problem}; write it once more, or name another"
        ) from None


def separated_form(path: Path) -> SeparatedForm | None:
    """How a separated file is written; None for files that say so themselves."""
    reader = READERS[table_ending(path)]
    if not isinstance(reader, partial):
        return None
    with reading(path):
        return find_form(path, **reader.keywords)


def _near(path: Path) -> str:
    """What to do: a table of nearly that name in the same folder, or others that are there."""
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
    listed = ", ".join(sorted(there)[:MOST_NAMED]) + ("…" if len(there) > MOST_NAMED else "")
    return f"; tables {where}: {listed}" if there else f"; there are no tables {where}"


def _read_parquet(path: Path, *, decimal: str | None, **others: Any) -> Table:
    return settle_decimals(read_parquet(path), decimal)


def _read_feather(path: Path, *, decimal: str | None, **others: Any) -> Table:
    return settle_decimals(read_feather(path), decimal)


READERS: dict[str, Callable[..., Table]] = {
    ".csv": partial(read_separated, separator=","),
    ".tsv": partial(read_separated, separator="\t"),
    ".txt": partial(read_separated, separator="\t", names=CRITEO_COLUMNS),
    ".parquet": _read_parquet,
    ".feather": _read_feather,
}
