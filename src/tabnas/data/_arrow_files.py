"""Parquet and Feather files: small ones are read into memory, large ones when they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from pyarrow import feather, parquet

from tabnas.data._table import Table
from tabnas.errors import TabNASError
from tabnas.threads import get_threads

MIN_LARGE_BYTES = 64 << 20
"""Bytes in memory from which on a table is read column by column or in batches when it is used."""
CELL = 8  # bytes that a value takes in memory, at least about: on disk, it may be a few bits
BUFFER = 1 << 20  # bytes of a column of a Parquet file that are read at a time
IPC = b"ARROW1"  # what files of Arrow's format begin with; other Feather files are of version 1
PANDAS_INDEX = re.compile(r"__index_level_\d+__")

Convert = Callable[[Any], Any]
"""Converts a column value by value."""
NOTHING: Mapping[str, Convert] = MappingProxyType({})


def read_parquet(path: Path) -> Table:
    """Return the table of a Parquet file, which stays open if it is large."""
    source = pa.OSFile(str(path))
    file = parquet.ParquetFile(source)
    meta = file.metadata
    size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if not is_large(size, meta.num_rows, len(file.schema_arrow)):
        with source:
            return validate_table(file.read(use_threads=get_threads() > 1))
    return lazy_parquet(source, path.name)


def is_large(size: int, rows: int, columns: int) -> bool:
    """Return whether a file of `size` bytes should not be read into memory at once."""
    return max(size, CELL * rows * columns) >= MIN_LARGE_BYTES


def lazy_parquet(source: Any, title: str, convert: Mapping[str, Convert] = NOTHING) -> Table:
    """Return the table of an open Parquet file, of which nothing is in memory.

    Errors call the file `title`; the columns of `convert` come converted. In batches, texts come as
    dictionaries, as most files store them: they are read and encoded in half the time.
    """
    metadata = parquet.read_metadata(source)
    schema = metadata.schema.to_arrow_schema()
    names = [name for name in schema.names if not PANDAS_INDEX.fullmatch(name)]
    texts = [
        c.name for c in schema if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)
    ]

    def open_reader(**options: Any) -> Any:
        """Open a reader for one reading: a reader has one cache, which another reading replaces."""
        return parquet.ParquetFile(source, metadata=metadata, buffer_size=BUFFER, **options)

    def converted(read: Any, wanted: Sequence[str]) -> pa.Table:
        read.validate(full=True)
        # by position in what comes: asking for "a" also brings "a.b"
        columns = {name: read.column(read.column_names.index(name)) for name in wanted}
        changed = [convert[name](c) if name in convert else c for name, c in columns.items()]
        return pa.Table.from_arrays(changed, names=list(columns))

    def load(number: int) -> pa.ChunkedArray:
        name = names[number]
        with _translate_errors(f"the column {name!r} of {title!r}"):
            read = open_reader().read(columns=[name], use_threads=get_threads() > 1)
            return converted(read, [name]).column(0)

    def scan(numbers: Sequence[int], rows: int) -> Iterator[pa.Table]:
        wanted = [names[number] for number in numbers]

        def tables() -> Iterator[pa.Table]:
            reader = open_reader(read_dictionary=texts)
            # a group at a time: Arrow keeps the buffers of all groups that are asked for at once
            for group in range(metadata.num_row_groups):
                for batch in reader.iter_batches(
                    rows, row_groups=[group], columns=wanted, use_threads=get_threads() > 1
                ):
                    yield converted(pa.Table.from_batches([batch]), wanted)

        with _translate_errors(repr(title)):
            yield from regroup_rows(tables(), rows)

    return Table.lazy(names, metadata.num_rows, load, scan=scan)


def read_feather(path: Path) -> Table:
    """Return the table of a Feather file, which stays open if it is large."""
    with path.open("rb") as start:
        if start.read(len(IPC)) != IPC:
            return validate_table(_read_feather(path))
    source = pa.OSFile(str(path))
    with pa.ipc.open_file(source) as file:
        schema = file.schema
    rows = sum(batch.num_rows for batch in _read_batches(source, [0])) if len(schema) else 0
    if not is_large(path.stat().st_size, rows, len(schema)):
        with source:
            return validate_table(_read_feather(path))
    positions = [i for i, name in enumerate(schema.names) if not PANDAS_INDEX.fullmatch(name)]

    def tables(places: Sequence[int]) -> Iterator[pa.Table]:
        for batch in _read_batches(source, sorted(places)):
            batch.validate(full=True)
            yield pa.Table.from_batches([batch]).select([schema.names[i] for i in places])

    def load(number: int) -> pa.ChunkedArray:
        with _translate_errors(f"the column {schema.names[positions[number]]!r} of {path.name!r}"):
            return pa.concat_tables(tables([positions[number]])).column(0)

    def scan(numbers: Sequence[int], rows: int) -> Iterator[pa.Table]:
        with _translate_errors(repr(path.name)):
            yield from regroup_rows(tables([positions[number] for number in numbers]), rows)

    return Table.lazy([schema.names[i] for i in positions], rows, load, scan=scan)


def _read_feather(path: Path) -> Any:
    return feather.read_table(path, memory_map=True, use_threads=get_threads() > 1)


def _read_batches(source: Any, places: Sequence[int]) -> Iterator[Any]:
    """Yield the batches of a Feather file, with the columns at some positions of its schema."""
    options = pa.ipc.IpcReadOptions(included_fields=list(places), use_threads=get_threads() > 1)
    with pa.ipc.open_file(source, options=options) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def regroup_rows(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of `rows` rows, the last one smaller."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count < rows:
            continue
        together = pa.concat_tables(waiting)
        full = count - count % rows
        yield from (together.slice(start, rows) for start in range(0, full, rows))
        waiting, count = [together.slice(full)], count - full
    if count:
        yield pa.concat_tables(waiting)


def validate_table(arrow: Any) -> Table:
    """Return the table of a file after validating it: its offsets may be out of range."""
    arrow.validate(full=True)
    names = enumerate(arrow.column_names)
    return Table(arrow.select([i for i, name in names if not PANDAS_INDEX.fullmatch(name)]))


@contextmanager
def _translate_errors(what: str) -> Iterator[None]:
    """Say in errors what cannot be read of a damaged or changed file."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, TabNASError):
            raise
        problem = (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")
        raise TabNASError(f"{what} cannot be read: {problem}") from None
