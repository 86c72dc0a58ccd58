"""Load tables and datasets that are named on the command line."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tabnas.cli.options._completion import TABLE_SUFFIXES, read_column_names
from tabnas.errors import TabNASError, find_nearest
from tabnas.formatting import shorten
from tabnas.threads import get_threads

if TYPE_CHECKING:
    from tabnas.data import Table

DASH = "-"
"""Stands for standard input, or for standard output."""
STDIN_COPY = "standard input.csv"
"""The name of the temporary copy; errors call it standard input."""
STDIN_RUN_NAME = "stdin"
MAX_COLUMNS_LISTED = 12
MAX_NAME_LENGTH = 50  # of a run that is named after its table
LOCAL_SOURCES = ("tabnas", "scikit-learn", "folder")
"""Sources of datasets that need no download."""


def configure_arrow() -> None:
    """Configure Arrow for the command line: its threads, its signal handlers, and no pandas.

    Arrow's own signal handlers miss a Ctrl-C that comes as they end. Arrow also imports pandas when
    it converts its first values, which takes longer than most tables take to read, and ignores
    exceptions of that import. Commands read no frames, so Arrow is shown that there is no pandas.
    """
    import pyarrow as pa

    pa.enable_signal_handlers(False)
    pa.set_cpu_count(get_threads())
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _NoPandas:
    """A finder of modules that finds no pandas, and leaves all others to the next finder."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


@contextmanager
def input_path(path: Path) -> Iterator[Path]:
    """Yield the path, or for `-` the path of a temporary copy of standard input.

    Readers look at a table more than once, which a pipe does not allow.
    """
    if str(path) != DASH:
        yield path
        return
    if sys.stdin is None:
        raise TabNASError("standard input must be open to be read as a table; name a file instead")
    with tempfile.TemporaryDirectory(prefix="tabnas-") as folder:
        try:
            with (Path(folder) / STDIN_COPY).open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
        except OSError as error:
            raise TabNASError(
                f"standard input must fit into the folder {tempfile.gettempdir()!r} "
                f"({error.strerror or error}); set TMPDIR to another, or name a file"
            ) from None
        try:
            yield Path(folder) / STDIN_COPY
        except TabNASError as error:
            message = str(error)
            if repr(STDIN_COPY) not in message:
                raise
            raise TabNASError(message.replace(repr(STDIN_COPY), "standard input")) from None


def load_table(
    source: str, target: str | None, *, text: Collection[str] = (), decimal: str | None = None
) -> tuple[Table, str]:
    """Load a file, or a dataset by its name; return the table and its target column.

    The columns `text` of a file are read as texts; `decimal` is its decimal mark, if known.
    """
    from tabnas.data import load_dataset, read_table

    configure_arrow()
    if "://" in source:
        raise TabNASError(
            f"a table must be a file on this machine, got the address {source!r}; download it, "
            "and name the file"
        )
    path = Path(source)
    if path.exists() or (path.suffix and not _is_in_data_folder(source)):
        if target is None:
            raise TabNASError(
                f"a file must come with --target NAME, the column to predict{_list_columns(path)}"
            )
        return read_table(path, text=text, decimal=decimal), target
    try:
        dataset = load_dataset(source, target=target, text=text, decimal=decimal)
    except TabNASError as error:
        near = find_nearest(source, _tables_by_stem())
        if near is None or "did you mean" in str(error):
            raise
        raise TabNASError(
            f"there is no dataset {source!r}; did you mean the file {_tables_by_stem()[near]!r}?"
        ) from None
    return dataset.table, target or dataset.target


def _is_in_data_folder(source: str) -> bool:
    """Return whether a table of the data folder has this name."""
    from tabnas.data.datasets import find_tables

    try:
        return bool(find_tables(source))
    except TabNASError:  # there is no such folder
        return False


def _tables_by_stem() -> dict[str, str]:
    """Return the tables of the current folder, by their names without suffixes."""
    files = sorted(path.name for path in Path().iterdir() if path.suffix.lower() in TABLE_SUFFIXES)
    return {name.split(".")[0]: name for name in reversed(files)}


def _list_columns(path: Path) -> str:
    """Return the columns of a file for an error message; empty if they cannot be read."""
    try:
        names = [shorten(name) for name in read_column_names(path)]
    except (OSError, ValueError):
        return ""
    hidden = len(names) - MAX_COLUMNS_LISTED
    more = f" and {hidden:,} more" if hidden > 0 else ""
    return f"; it has {', '.join(names[:MAX_COLUMNS_LISTED])}{more}" if names else ""


def is_local(source: str) -> bool:
    """Return whether a table can be loaded without a download."""
    from tabnas.data import list_datasets

    if Path(source).is_file():
        return True
    try:
        names = [listing.name for listing in list_datasets() if listing.source in LOCAL_SOURCES]
    except TabNASError:
        return False
    return source in names or _is_in_data_folder(source)


def default_run_folder(source: str, suffix: str = "") -> Path:
    """Return `runs/NAME`, with a number if that exists."""
    source = STDIN_RUN_NAME if source == DASH else source
    name = (Path(source).name.split(".")[0] or "run")[:MAX_NAME_LENGTH] + suffix
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
