"""Parquet and Feather in chunks, group by group and batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tabnas.data import Table
from tabnas.data.reading import PANDAS_INDEX
from tabnas.stores._chunks import Chunk, refuse_other_columns
from tabnas.stores._sources import Source

FEWEST_ROWS, MOST_ROWS = 1 << 10, 1 << 17  # of a chunk


@dataclass(frozen=True, kw_only=True)
class ParquetReader:
    """Reads row groups; a large one is several chunks, of which only the last ends at a place."""

    names: tuple[str, ...]  # of all columns, as the first file has them
    size: int  # bytes of a chunk
    only: tuple[str, ...] = ()  # the columns that are wanted; none: all

    def chunks(self, source: Source, start: int, stop: int | None, row: int) -> Iterator[Chunk]:
        """The rows from one row group to another."""
        with parquet.ParquetFile(source.path) as file:
            refuse_other_columns(source, self.names, column_names(file.schema_arrow))
            for number in range(start, file.num_row_groups if stop is None else stop):
                group = file.metadata.row_group(number)
                rows = _chunk_rows(self.size, group.total_byte_size, group.num_rows)
                left = group.num_rows
                for batch in file.iter_batches(rows, row_groups=[number], columns=self._wanted()):
                    left -= batch.num_rows
                    on_disk = round(source.size * batch.num_rows / file.metadata.num_rows)
                    yield Chunk(
                        _table(batch, self._wanted()), on_disk, None if left else number + 1
                    )

    def _wanted(self) -> tuple[str, ...]:
        return self.only or self.names


@dataclass(frozen=True, kw_only=True)
class FeatherReader:
    """Reads record batches."""

    names: tuple[str, ...]
    size: int
    only: tuple[str, ...] = ()

    def chunks(self, source: Source, start: int, stop: int | None, row: int) -> Iterator[Chunk]:
        """The rows from one batch to another."""
        with pa.OSFile(str(source.path)) as opened, pa.ipc.open_file(opened) as file:
            refuse_other_columns(source, self.names, column_names(file.schema))
            count = file.num_record_batches
            for number in range(start, count if stop is None else stop):
                batch = file.get_batch(number)
                rows = _chunk_rows(self.size, batch.nbytes, batch.num_rows)
                for begin in range(0, batch.num_rows, rows):
                    part = batch.slice(begin, rows)
                    last = begin + rows >= batch.num_rows
                    on_disk = round(source.size / count * part.num_rows / batch.num_rows)
                    table = _table(part, self.only or self.names)
                    yield Chunk(table, on_disk, number + 1 if last else None)


def column_names(schema: Any) -> tuple[str, ...]:
    """The columns of a file, without the index of a pandas frame."""
    return tuple(name for name in schema.names if not PANDAS_INDEX.fullmatch(name))


def _chunk_rows(size: int, total: int, rows: int) -> int:
    return min(max(int(size / max(total / max(rows, 1), 1)), FEWEST_ROWS), MOST_ROWS)


def _table(batch: Any, names: tuple[str, ...]) -> Table:
    """Some columns of a batch, believed only after a look: offsets could be wild."""
    # by position in what comes: asking for "a" also brings "a.b"
    places = [batch.schema.names.index(name) for name in names]
    table = pa.Table.from_arrays([batch.column(i) for i in places], names=list(names))
    table.validate(full=True)
    return Table(table)
