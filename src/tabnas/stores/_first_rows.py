"""The first rows of all files, typed as in a table that is read at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tabnas.data import Table
from tabnas.data.lowlevel import (
    CsvFormat,
    DecimalContext,
    DecimalMarkDetector,
    FileStart,
    RowError,
    decode_dictionary,
    detect_decimal_marks,
    find_csv_format,
    is_contradiction,
    is_datetime_type,
    make_decimal_context,
    parse_numbers,
    read_typed,
    set_decimal_mark,
    translate_read_errors,
)
from tabnas.errors import TabNASError
from tabnas.stores._readers import (
    Chunk,
    FeatherReader,
    ParquetReader,
    check_columns,
    column_names,
    read_chunks,
)
from tabnas.stores._sources import Source

MAX_FIRST_ROWS = 100_000
CHUNK_BYTES = 1 << 20  # of a chunk of a file in a format of Arrow's
READERS: dict[str, type[ParquetReader] | type[FeatherReader]] = {
    ".parquet": ParquetReader,
    ".feather": FeatherReader,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstRows:
    """The first rows of all files."""

    table: Table
    sources: tuple[Source, ...]  # that the rows come from
    lengths: tuple[int, ...]  # the number of rows from each of them
    estimated_rows: float  # in all files that are split
    names: tuple[str, ...]  # of all columns, as files have them
    is_text: bool  # whether they are text files

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Name the file and the row in errors about the table."""
        try:
            yield
        except RowError as error:
            starts = np.cumsum([0, *self.lengths[:-1]])
            number = int(np.searchsorted(starts, error.row, side="right")) - 1
            with self.sources[number].locate_errors(-int(starts[number])):
                raise


def read_first_rows(sources: Sequence[Source], size: int, decimal: str | None = None) -> FirstRows:
    """Read about the first 100,000 rows, at most `size` bytes, as many from every file.

    All files must have one format and the same columns. `decimal` is their decimal mark, if the
    user has given one.
    """
    first = sources[0]
    shared = tuple(source for source in sources if source.part is None)
    for source in sources:
        both_text = source.is_text and first.is_text
        if source.ending != first.ending and not both_text:
            raise TabNASError(
                f"all files must be of one format, but {first.path.name!r} is {first.ending} "
                f"and {source.path.name!r} {source.ending}"
            )
    rows, size = -(-MAX_FIRST_ROWS // len(shared)), max(size // len(shared), 1)
    if not first.is_text:
        return _read_first_arrow_rows(sources, shared, rows, size, decimal)
    csv_formats = [find_csv_format(source.path) for source in sources]
    for source, csv_format in zip(sources, csv_formats, strict=True):
        check_columns(source, csv_formats[0].header, csv_format.header)
        if csv_format.separator != csv_formats[0].separator:
            raise TabNASError(
                f"{source.path.name!r} must separate values by {csv_formats[0].separator!r}, as "
                f"the first file does, but it has {csv_format.separator!r}"
            )
    return _read_first_text_rows(csv_formats[: len(shared)], shared, rows, size, decimal)


def _estimate_rows(sources: Sequence[Source], rows: int, size: float) -> float:
    return rows / max(size, 1) * sum(source.size for source in sources)


# --- text -----------------------------------------------------------------------------------------


def _read_first_text_rows(
    csv_formats: Sequence[CsvFormat],
    sources: tuple[Source, ...],
    rows: int,
    size: int,
    decimal: str | None,
) -> FirstRows:
    starts = []
    for source, csv_format in zip(sources, csv_formats, strict=True):
        with translate_read_errors(source.path):
            start = FileStart.read_records(source.path, csv_format, size)
        if start is not None:
            starts.append((source, csv_format, start))
    tables, decimals = _parse_starts(starts, decimal)
    first_tables = [table.slice(0, rows) for table in tables]
    count = sum(first.num_rows for first in first_tables)
    if not count:
        raise TabNASError(f"{sources[0].path.name!r} must have rows, but it has none")
    on_disk = sum(
        start.size_on_disk * first.num_rows / max(table.num_rows, 1)
        for (_, _, start), first, table in zip(starts, first_tables, tables, strict=True)
    )
    return FirstRows(
        table=Table(pa.concat_tables(first_tables)).with_decimals(decimals),
        sources=tuple(source for source, _, _ in starts),
        lengths=tuple(first.num_rows for first in first_tables),
        estimated_rows=_estimate_rows(sources, count, on_disk),
        names=csv_formats[0].header,
        is_text=True,
    )


_Start = tuple[Source, CsvFormat, FileStart]


def _parse_starts(
    starts: Sequence[_Start], decimal: str | None
) -> tuple[list[pa.Table], DecimalContext]:
    """Parse the starts of all files as `read_table` would, and find their decimal mark."""
    if not starts:
        return [], DecimalContext()
    tables = _parse_typed(starts, set())
    types = {column.name: column.type for column in tables[0].schema}
    floats = {name for name, kind in types.items() if pa.types.is_floating(kind)}
    zeros = {
        name
        for _, csv_format, start in starts
        for name in start.find_leading_zeros(csv_format, types)
    }
    csv_format = starts[0][1]
    as_text = zeros | (floats if csv_format.suggests_decimal_commas else set())
    while True:
        if as_text:
            tables = _parse_typed(starts, as_text)
        detector = DecimalMarkDetector()
        for table in tables:
            detect_decimal_marks(
                detector, table, (c.name for c in table.schema if c.type == pa.string())
            )
        mark = decimal or detector.mark
        if mark != "," or floats <= as_text:
            break
        as_text |= floats  # 1.234 must be seen as it is written
    by_column = {
        name: own_mark for name, own_mark in detector.plain_columns(mark) if name not in zeros
    }
    for name, own_mark in by_column.items():
        number = tables[0].column_names.index(name)
        tables = [
            table.set_column(number, name, parse_numbers(own_mark, table.column(number)))
            for table in tables
        ]
    return tables, make_decimal_context(csv_format, mark, by_column)


def _parse_typed(starts: Sequence[_Start], as_text: set[str]) -> list[pa.Table]:
    """Parse all starts with types that hold in all of them; some columns as text."""
    _, csv_format, _ = starts[0]

    def parse(typed: CsvFormat) -> list[pa.Table]:
        tables: list[pa.Table] = []
        types = typed.types
        for source, start_format, start in starts:
            try:
                tables.append(start.parse(replace(start_format, types=types)))
            except pa.ArrowInvalid as error:
                if is_contradiction(error):
                    raise
                problem = start_format.describe_problem(source.path, str(error))
                raise TabNASError(problem) from None
            types = {column.name: column.type for column in tables[-1].schema}
        return tables

    types = dict.fromkeys(as_text, pa.string())
    tables: list[pa.Table] = read_typed(starts[0][0].path, replace(csv_format, types=types), parse)
    return tables


# --- Parquet and Feather --------------------------------------------------------------------------


def _read_first_arrow_rows(
    sources: Sequence[Source],
    shared: tuple[Source, ...],
    rows: int,
    size: int,
    decimal: str | None,
) -> FirstRows:
    with translate_read_errors(sources[0].path):
        names = _read_names(sources[0])
    reader = READERS[sources[0].ending](names=names, size=min(CHUNK_BYTES, size))
    tables: list[tuple[Source, pa.Table]] = []
    lengths, on_disk, left = [], 0.0, size * len(shared)
    for source in sources:
        first_rows, here = _take_first_rows(read_chunks(reader, source), rows, min(size, left))
        if source.part is None:
            tables += [(source, table) for table in first_rows]
            lengths.append(sum(table.num_rows for table in first_rows))
            on_disk += here
            left -= sum(table.nbytes for table in first_rows)
    if not sum(lengths):
        raise TabNASError(f"{sources[0].path.name!r} must have rows, but it has none")
    return FirstRows(
        table=set_decimal_mark(Table(_concat_tables(tables)), decimal),
        sources=shared,
        lengths=tuple(lengths),
        estimated_rows=_estimate_rows(shared, sum(lengths), on_disk),
        names=names,
        is_text=False,
    )


def _take_first_rows(chunks: Iterator[Chunk], rows: int, size: int) -> tuple[list[pa.Table], float]:
    """Return copies of the first rows, about `size` bytes, and the bytes they take on disk."""
    tables, on_disk = [], 0.0
    for chunk in chunks:  # at least one is read, since its columns are checked
        table = chunk.table.arrow
        fitting = ceil(size * table.num_rows / max(table.nbytes, 1))
        count = max(0, min(rows, table.num_rows, fitting))
        tables.append(table.take(np.arange(count)))  # a slice would hold the chunk in memory
        on_disk += chunk.bytes * count / table.num_rows
        rows -= count
        size -= tables[-1].nbytes
        if rows <= 0 or size <= 0:
            break
    return tables, on_disk


def _read_names(source: Source) -> tuple[str, ...]:
    """Return the columns of a Parquet or Feather file."""
    if source.ending == ".parquet":
        return column_names(parquet.read_schema(source.path))
    with pa.OSFile(str(source.path)) as opened, pa.ipc.open_file(opened) as file:
        return column_names(file.schema)


def _concat_tables(tables: Sequence[tuple[Source, pa.Table]]) -> pa.Table:
    """Concatenate tables of several files, which may store a column in different types."""
    names = tables[0][1].column_names
    columns = [
        _concat_columns(name, [(source, table.column(i)) for source, table in tables])
        for i, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=names)


def _concat_columns(
    name: str, columns: Sequence[tuple[Source, pa.ChunkedArray]]
) -> pa.ChunkedArray:
    """Concatenate in one type; if one file has categories, the values of all are categories."""
    kinds = {column.type for _, column in columns}
    if len(kinds) == 1:
        return _concat([column for _, column in columns])
    values = [decode_dictionary(column) for _, column in columns]
    common = values[0].type
    for (source, _), column in zip(columns, values, strict=True):
        common = _find_common_type(name, source, common, column.type)
    together = _concat([column.cast(common, safe=False) for column in values])
    return together.dictionary_encode() if any(map(pa.types.is_dictionary, kinds)) else together


def _concat(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[0].type)


def _find_common_type(
    name: str, source: Source, before: pa.DataType, here: pa.DataType
) -> pa.DataType:
    """Return a type for the values of earlier files and of one more."""
    if before != here and is_datetime_type(before) and is_datetime_type(here):
        return pa.timestamp("s")  # to which all datetimes are converted anyway
    try:
        schemas = [pa.schema([(name, kind)]) for kind in (before, here)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        raise TabNASError(
            f"{source.path.name!r} must have columns of the types of the files before it, but "
            f"{name!r} is {here} there and {before} before; write all files with the same types"
        ) from None
