"""The files of tables: in a folder of the user, or among the bundled ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tabnas.data import Table, bundled_file, read_table
from tabnas.errors import TabNASError
from tabnas.files import atomic_file
from tabnas.streams import stream

SOURCE_ROW = "source_row"
"""In a bundled part of a table: the position of each row in the complete table."""
SOURCE_ROWS = b"source_rows"
"""In the metadata of such a file: the number of rows of the complete table."""


def find_file(file: str, folder: Path | None) -> Path | None:
    """Return the path of a table's file, or None if there is none.

    A file in the user's folder takes precedence over the bundled one.
    """
    if folder is not None and (folder / file).exists():
        return folder / file
    return bundled_file(file)


def locate_file(file: str, folder: Path | None, *, remedy: str = "") -> Path:
    """Return the path of a table's file; raise an error that says how to get it."""
    path = find_file(file, folder)
    if path is None:
        place = "does not come with tabnas" if folder is None else f"is not in {str(folder)!r}"
        raise TabNASError(
            f"the table {file!r} {place}; "
            + (remedy or "name the folder that holds it with --data")
        )
    return path


def sample_rows(path: Path, rows: int, *, name: str) -> Table:
    """Read a random sample of a table's rows, in their order; the same in every run.

    `name` is that of the random stream, `rows` their number, 0 for all. A bundled part of a table
    gives the same rows as the complete one.
    """
    table = read_table(path)
    metadata = pq.read_schema(path).metadata or {} if path.suffix == ".parquet" else {}
    if SOURCE_ROWS not in metadata:
        return table.take(_sample(len(table), rows, name))
    sampled = _sample(int(metadata[SOURCE_ROWS]), rows, name)
    source = table.column(SOURCE_ROW).to_numpy()
    positions = np.searchsorted(source, sampled)
    if not np.array_equal(source[np.minimum(positions, len(source) - 1)], sampled):
        raise TabNASError(
            f"{path.name!r} holds only the rows that the experiments use, got a sample of "
            f"{len(sampled):,} others; name a folder with the complete table with --data"
        )
    return table.drop([SOURCE_ROW]).take(positions)


def _sample(total: int, rows: int, name: str) -> np.ndarray:
    return np.sort(stream(0, name).permutation(total)[: rows or total])


def write_parquet(table: pa.Table, path: Path, metadata: Mapping[str, Any]) -> None:
    """Write a table atomically, with metadata as JSON under the key `tabnas`."""
    table = table.replace_schema_metadata({"tabnas": json.dumps(metadata)})
    with atomic_file(path) as file:
        pq.write_table(table, file, compression="zstd")
