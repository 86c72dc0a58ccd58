"""The first rows of all files, as a table in memory would have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tabnas.data import Table
from tabnas.data.reading import (
    DecimalContext,
    DecimalMarks,
    RowError,
    SeparatedForm,
    add_decimals,
    as_numbers,
    decimals_of,
    find_leading_zeros,
    is_european,
    read_typed,
    reading,
    separated_form,
    settle_decimals,
)
from tabnas.errors import TabNASError
from tabnas.stores._arrow import FeatherReader, ParquetReader, column_names
from tabnas.stores._chunks import Chunk, read_chunks
from tabnas.stores._joining import joined
from tabnas.stores._rows import rows_of
from tabnas.stores._sources import Source
from tabnas.stores._text import TextReader, read_records, refuse_carriage_returns, refuse_other_form

HEAD_ROWS = 100_000
BLOCK = 1 << 20  # bytes that are read at a time to find them


@dataclass(frozen=True, eq=False, kw_only=True)
class Head:
    """First rows, and what can be seen of the rest."""

    table: Table
    sources: tuple[Source, ...]  # that the rows are of
    lengths: tuple[int, ...]  # how many of each
    rows: float  # in all files that rows are dealt out from, about
    reader: TextReader | ParquetReader | FeatherReader  # of all columns
    form: SeparatedForm | None = None

    @contextmanager
    def rows_named(self) -> Iterator[None]:
        """Name file and row in errors about the table."""
        try:
            yield
        except RowError as error:
            begins = np.cumsum([0, *self.lengths[:-1]])
            number = int(np.searchsorted(begins, error.row, side="right")) - 1
            with rows_of(self.sources[number], -int(begins[number])):
                raise


def read_head(sources: Sequence[Source], size: int, decimal: str | None = None) -> Head:
    """About the first 100,000 rows in all, of at most `size` bytes, the same number of each file.

    Files of one store are of one format, with the same columns; `decimal` is their decimal mark, if
    it is known.
    """
    first = sources[0]
    shared = tuple(source for source in sources if source.part is None)
    for source in sources:
        if (source.ending in ARROW or first.ending in ARROW) and source.ending != first.ending:
            raise TabNASError(
                f"all files must be of one format, but {first.path.name!r} is {first.ending} "
                f"and {source.path.name!r} {source.ending}"
            )
        if source.ending not in ARROW:
            refuse_carriage_returns(source)
    rows, most = -(-HEAD_ROWS // len(shared)), max(size // len(shared), 1)
    form = separated_form(first.path)
    if form is None:
        return _stored_head(sources, shared, rows, most, decimal)
    for source in sources[1:]:
        found = separated_form(source.path)
        assert found is not None
        refuse_other_form(source, form, found)
    return _text_head(form, shared, rows, most, decimal)


def _text_head(
    form: SeparatedForm, sources: tuple[Source, ...], rows: int, most: int, decimal: str | None
) -> Head:
    parts, on_disk = [], 0
    reader = TextReader(form=form, size=min(BLOCK, most))
    for source in sources:
        data, lines = b"", 0
        with reading(source.path):
            for records in reader.records(source):
                data += records.data
                lines += records.data.count(b"\n")
                on_disk += records.bytes
                if lines >= rows or len(data) >= most:
                    break
        parts.append(data if data.endswith(b"\n") else data + b"\n")
    joined = b"".join(parts)
    plain = replace(form, skip=0)
    if joined.isspace():
        raise TabNASError(f"{sources[0].path.name!r} must have rows, but it has none")
    try:
        arrow, decimals = _as_written(sources[0], plain, joined, decimal)
    except TabNASError:
        for source, part in zip(sources, parts, strict=True):
            _typed(source, plain, part)  # which names the file that it is in
        raise
    one = form.header[:1]
    text = replace(plain, types={one[0]: pa.string()})
    lengths = [arrow.num_rows]
    if len(parts) > 1:
        lengths = [read_records(text, part, one).num_rows for part in parts]
    return Head(
        table=Table(arrow).with_decimals(decimals),
        sources=sources,
        lengths=tuple(lengths),
        rows=_in_all(sources, arrow.num_rows, on_disk),
        reader=reader,
        form=form,
    )


def _as_written(
    source: Source, form: SeparatedForm, data: bytes, decimal: str | None
) -> tuple[pa.Table, DecimalContext]:
    """The rows as `read_table` would read them, and what they show of their decimal mark."""
    arrow = _typed(source, form, data)
    types = {column.name: column.type for column in arrow.schema}
    floats = {name for name, kind in types.items() if pa.types.is_floating(kind)}
    zeros = find_leading_zeros(data, form, types)
    texts = zeros | (floats if is_european(form) else set())
    while True:
        if texts:
            arrow = _typed(source, replace(form, types=dict.fromkeys(texts, pa.string())), data)
        found = DecimalMarks()
        add_decimals(found, arrow, (c.name for c in arrow.schema if c.type == pa.string()))
        mark = decimal or found.mark
        if mark != "," or floats <= texts:
            break
        texts |= floats  # of which 1.234 must be seen as it is written
    own = {name: one for name, one in found.plain_columns(mark) if name not in zeros}
    for name, one in own.items():
        numbers = as_numbers(one, arrow.column(name))
        arrow = arrow.set_column(arrow.column_names.index(name), name, numbers)
    return arrow, decimals_of(form, mark, own)


def _typed(source: Source, form: SeparatedForm, data: bytes) -> pa.Table:
    def read(typed: SeparatedForm) -> pa.Table:
        try:
            return read_records(typed, data)
        except pa.ArrowInvalid as error:
            if "columns, got" not in str(error):
                raise
            return read_records(typed, data, use_threads=False)  # which knows the row

    return read_typed(source.path, form, read)


def _stored_head(
    sources: Sequence[Source],
    shared: tuple[Source, ...],
    rows: int,
    most: int,
    decimal: str | None,
) -> Head:
    read = ARROW[sources[0].ending]
    with reading(sources[0].path):
        names = read_names(sources[0])
    reader = read(names=names, size=min(BLOCK, most))
    found: list[tuple[Source, pa.Table]] = []
    lengths, on_disk, left = [], 0.0, most * len(shared)
    for source in sources:
        tables, here = _first_rows(read_chunks(reader, source), rows, min(most, left))
        if source.part is None:
            found += [(source, table) for table in tables]
            lengths.append(sum(table.num_rows for table in tables))
            on_disk += here
            left -= sum(table.nbytes for table in tables)
    if not sum(lengths):
        raise TabNASError(f"{sources[0].path.name!r} must have rows, but it has none")
    return Head(
        table=settle_decimals(Table(joined(found)), decimal),
        sources=shared,
        lengths=tuple(lengths),
        rows=_in_all(shared, sum(lengths), on_disk),
        reader=reader,
    )


def _first_rows(chunks: Iterator[Chunk], rows: int, most: int) -> tuple[list[pa.Table], float]:
    """Copies of the first rows, of about so many bytes, and the bytes that they take on disk."""
    parts, on_disk = [], 0.0
    for chunk in chunks:  # of which one is looked at in any case, for the columns must be right
        table = chunk.table.arrow
        fitting = ceil(most * table.num_rows / max(table.nbytes, 1))
        kept = max(0, min(rows, table.num_rows, fitting))
        parts.append(table.take(np.arange(kept)))  # a slice would hold the chunk in memory
        on_disk += chunk.bytes * kept / table.num_rows
        rows -= kept
        most -= parts[-1].nbytes
        if rows <= 0 or most <= 0:
            break
    return parts, on_disk


def read_names(source: Source) -> tuple[str, ...]:
    """The columns of a file of Arrow's."""
    if source.ending == ".parquet":
        return column_names(parquet.read_schema(source.path))
    with pa.OSFile(str(source.path)) as opened, pa.ipc.open_file(opened) as file:
        return column_names(file.schema)


def _in_all(sources: Sequence[Source], rows: int, on_disk: float) -> float:
    return rows / max(on_disk, 1) * sum(source.size for source in sources)


ARROW: dict[str, type[ParquetReader] | type[FeatherReader]] = {
    ".parquet": ParquetReader,
    ".feather": FeatherReader,
}
