"""A folder of the user's tables."""

from __future__ import annotations

import os
from pathlib import Path

from tabnas.data._readers import READERS
from tabnas.errors import TabNASError

FOLDER_VARIABLE = "TABNAS_DATA"


def data_folder() -> Path | None:
    """Return the folder that the environment variable TABNAS_DATA names, if any."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def list_tables(folder: Path | None) -> list[Path]:
    """List the tables in a folder, by name."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise TabNASError(f"the data folder {str(folder)!r} does not exist or is not a folder")
    return sorted(path for path in folder.iterdir() if table_name(path) != path.name)


def table_name(path: Path) -> str:
    """Return the name of a file without the endings of tables.

    >>> [table_name(Path(name)) for name in ("sales.2024.CSV.gz", "a.parquet", "notes.csv.bak")]
    ['sales.2024', 'a', 'notes.csv.bak']
    """
    name = path.name.lower().removesuffix(".gz")
    ending = next((ending for ending in READERS if name.endswith(ending)), None)
    return path.name if ending is None else path.name[: len(name) - len(ending)]


def find_tables(name: str, folder: Path | None = None) -> list[Path]:
    """Return the tables of the data folder with this name, with their ending or without."""
    return [p for p in list_tables(folder or data_folder()) if name in (p.name, table_name(p))]
