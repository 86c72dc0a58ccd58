"""Readers of Parquet and Feather files: some tens of thousands of rows at a time.

Reading can begin at any row group of Parquet and any record batch of Feather; their numbers are
called *offsets*. A piece lies between two offsets of a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import parquet

from tabnas.data import Table
from tabnas.data.lowlevel import PANDAS_INDEX, translate_read_errors
from tabnas.errors import TabNASError
from tabnas.stores._sources import Source
from tabnas.threads import get_threads

PIECE_BYTES = 256 << 20
"""Bytes of a source that make a piece, about: an interruption loses the work of two at most."""
MIN_ROWS, MAX_ROWS = 1 << 10, 1 << 17  # of a chunk


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a file."""

    table: Table
    bytes: int  # of the source that they take, about
    end: int | None  # the offset behind them, if there is one


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The rows between two offsets of a file."""

    source: int  # the number of the file
    start: int
    stop: int | None  # None: the end of the file
    row: int  # the number of the first row in its file
    first: int  # the number of the first row among those of all files
    rows: int
    bytes: int  # of the source, about


class Reader(Protocol):
    """Reads files of one format."""

    def chunks(self, source: Source, start: int, stop: int | None) -> Iterator[Chunk]:
        """Yield the chunks from one offset to another."""


def read_chunks(
    reader: Reader, source: Source, *, start: int = 0, stop: int | None = None
) -> Iterator[Chunk]:
    """Yield the chunks of a file from one offset to another, without empty ones."""
    with translate_read_errors(source.path):
        for chunk in reader.chunks(source, start, stop):
            if len(chunk.table):
                yield chunk


@dataclass(frozen=True, kw_only=True)
class ParquetReader:
    """Reads row groups; a large one makes several chunks, of which only the last has an `end`."""

    names: tuple[str, ...]  # of all columns, as in the first file
    size: int  # bytes of a chunk
    only: tuple[str, ...] = ()  # the columns that are needed; empty: all

    def chunks(self, source: Source, start: int, stop: int | None) -> Iterator[Chunk]:
        """Yield the rows from one row group to another."""
        wanted = self.only or self.names
        with parquet.ParquetFile(source.path) as file:
            check_columns(source, self.names, column_names(file.schema_arrow))
            for number in range(start, file.num_row_groups if stop is None else stop):
                group = file.metadata.row_group(number)
                rows = _rows_per_chunk(self.size, group.total_byte_size, group.num_rows)
                left = group.num_rows
                batches = file.iter_batches(
                    rows, row_groups=[number], columns=wanted, use_threads=get_threads() > 1
                )
                for batch in batches:
                    left -= batch.num_rows
                    size = round(source.size * batch.num_rows / file.metadata.num_rows)
                    yield Chunk(_to_table(batch, wanted), size, None if left else number + 1)


@dataclass(frozen=True, kw_only=True)
class FeatherReader:
    """Reads record batches, of Feather files and of the copies of text files."""

    names: tuple[str, ...]
    size: int
    only: tuple[str, ...] = ()

    def chunks(self, source: Source, start: int, stop: int | None) -> Iterator[Chunk]:
        """Yield the rows from one record batch to another."""
        path = source.copy or source.path
        options = pa.ipc.IpcReadOptions(use_threads=get_threads() > 1)
        with pa.OSFile(str(path)) as opened, pa.ipc.open_file(opened, options=options) as file:
            check_columns(source, self.names, column_names(file.schema))
            count = file.num_record_batches
            for number in range(start, count if stop is None else stop):
                batch = file.get_batch(number)
                rows = _rows_per_chunk(self.size, batch.nbytes, batch.num_rows)
                before = round(source.size * number / count)
                for begin in range(0, batch.num_rows, rows):
                    rows_of_chunk = batch.slice(begin, rows)
                    end = begin + rows_of_chunk.num_rows
                    behind = round(source.size * (number + end / batch.num_rows) / count)
                    table = _to_table(rows_of_chunk, self.only or self.names)
                    is_last = end == batch.num_rows
                    yield Chunk(table, behind - before, number + 1 if is_last else None)
                    before = behind


def column_names(schema: Any) -> tuple[str, ...]:
    """Return the columns of a file, without the index of a pandas frame."""
    return tuple(name for name in schema.names if not PANDAS_INDEX.fullmatch(name))


def check_columns(source: Source, expected: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Raise an error unless a file has the columns of the first file, in the same order."""
    if names == expected:
        return
    extra = sorted(set(names) ^ set(expected))
    problem = f"{extra[0]!r} is in one of them only" if extra else "their order differs"
    raise TabNASError(
        f"{source.path.name!r} must have the columns of the first file, in the same order, "
        f"but {problem}"
    )


def _rows_per_chunk(size: int, total: int, rows: int) -> int:
    return min(max(int(size / max(total / max(rows, 1), 1)), MIN_ROWS), MAX_ROWS)


def _to_table(batch: Any, names: tuple[str, ...]) -> Table:
    """Return some columns of a batch, validated: the offsets in a file may be out of range."""
    # by position in what comes: asking for "a" also brings "a.b"
    positions = [batch.schema.names.index(name) for name in names]
    table = pa.Table.from_arrays([batch.column(i) for i in positions], names=list(names))
    table.validate(full=True)
    return Table(table)
