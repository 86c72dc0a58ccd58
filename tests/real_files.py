"""Real rows in other formats than they are kept in."""

from __future__ import annotations

import gzip
from pathlib import Path

from pyarrow import csv, parquet

from tabnas.data import bundled_file


def write_adult(path: Path) -> Path:
    """Write the table adult as a gzipped CSV file."""
    source = bundled_file("adult.parquet")
    with gzip.open(path, "wb", compresslevel=1) as file:
        csv.write_csv(parquet.read_table(source), file)
    return path
