"""Parquet files as tables: read at once if small, column by column if large."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tabnas.data._table import Table
from tabnas.errors import TabnasError

LARGE = 64 << 20
"""Bytes, uncompressed, from which on a table is read column by column, whenever one is needed."""
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def stored_table(path: Path) -> Table:
    """The table of a Parquet file, which stays open if it is large."""
    file = parquet.ParquetFile(path)
    groups = (file.metadata.row_group(i) for i in range(file.num_row_groups))
    if sum(group.total_byte_size for group in groups) < LARGE:
        with file:
            return in_memory(file.read())
    names = [name for name in file.schema_arrow.names if not PANDAS_INDEX.fullmatch(name)]

    def load(number: int) -> pa.ChunkedArray:
        name = names[number]
        try:
            read = file.read(columns=[name])
            # by position in what comes: asking for "a" also brings "a.b"
            column = read.column(read.column_names.index(name))
            column.validate(full=True)
        except (OSError, ValueError, pa.ArrowException) as error:
            problem = (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")
            raise TabnasError(
                f"the column {name!r} of {path.name!r} cannot be read: {problem}"
            ) from None
        return column

    return Table.lazy(names, file.metadata.num_rows, load)


def in_memory(arrow: Any) -> Table:
    """What a file of Arrow's holds, which is believed only after a look: offsets could be wild."""
    arrow.validate(full=True)
    names = enumerate(arrow.column_names)
    return Table(arrow.select([i for i, name in names if not PANDAS_INDEX.fullmatch(name)]))
