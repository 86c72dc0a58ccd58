"""A folder of the user's own tables."""

from __future__ import annotations

import os
from pathlib import Path

from tabnas.data._readers import READERS
from tabnas.errors import TabNASError

FOLDER_VARIABLE = "TABNAS_DATA"


def data_folder() -> Path | None:
    """The folder of local files that the environment variable TABNAS_DATA names."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def files_in(folder: Path | None) -> list[Path]:
    """The tables in a folder, by name."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise TabNASError(f"the data folder {str(folder)!r} is no folder")
    return sorted(path for path in folder.iterdir() if table_name(path) != path.name)


def table_name(path: Path) -> str:
    """The name of a file without what tells that it is a table.

    >>> [table_name(Path(name)) for name in ("sales.2024.CSV.gz", "a.parquet", "notes.csv.bak")]
    ['sales.2024', 'a', 'notes.csv.bak']
    """
    whole = path.name.lower().removesuffix(".gz")
    ending = next((ending for ending in READERS if whole.endswith(ending)), None)
    return path.name if ending is None else path.name[: len(whole) - len(ending)]
