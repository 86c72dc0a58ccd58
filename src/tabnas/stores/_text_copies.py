"""Copies of text files in Arrow's format, which both passes read instead of the text.

CSV can only be read from its start. So a file of separated text is parsed once, with the types that
the first rows have, and written to the folder of the store in record batches of about one
chunk each. These can be read in any order, and work that was interrupted resumes at one of them.
The copies are removed when the store is complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabnas.data.lowlevel import (
    CsvFormat,
    find_csv_format,
    open_batches,
    read_ahead,
    read_typed,
    read_with_larger_blocks,
)
from tabnas.files import atomic_file, remove_temporaries
from tabnas.stores._progress import Meter
from tabnas.stores._sources import Source
from tabnas.threads import get_threads

FOLDER = "text_copies"
PARSE_BYTES = 1 << 20  # that are parsed at a time; Arrow holds some dozens of such buffers


@dataclass(frozen=True, kw_only=True)
class TextColumns:
    """The columns of text files that are needed."""

    types: Mapping[str, pa.DataType]


def copy_text_sources(
    sources: Sequence[Source], columns: TextColumns, chunk: int, out: Path, meter: Meter
) -> tuple[Source, ...]:
    """Copy every source, unless that was done before, and return the sources with their copies."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    copied = []
    for number, source in enumerate(sources):
        path = folder / f"{number:06d}.feather"
        if path.exists():
            meter.skip(0, source.size)
        else:
            _copy_source(source, columns, chunk, path, meter)
            source.check_unchanged()
        copied.append(replace(source, copy=path))
    return tuple(copied)


def remove_incomplete_copies(out: Path) -> None:
    """Remove copies that a killed process has left incomplete."""
    folder = out / FOLDER
    if folder.exists():
        remove_temporaries(folder, *(path.name[1:-9] for path in folder.glob(".*.feather.*")))


def remove_copies(out: Path) -> None:
    """Remove all copies."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)


def _copy_source(
    source: Source, columns: TextColumns, chunk: int, path: Path, meter: Meter
) -> None:
    position = meter.position

    def read(csv_format: CsvFormat) -> None:
        meter.rewind(position)
        write = partial(_write, source, tuple(columns.types), csv_format, chunk, path, meter)
        read_with_larger_blocks(write, min(PARSE_BYTES, chunk))

    csv_format = replace(find_csv_format(source.path), types=columns.types)
    # where a value contradicts its column's type, the column is copied as text: the pass that reads
    # it as numbers names the row
    read_typed(source.path, csv_format, read, widen=lambda *contradiction: pa.string())


def _write(
    source: Source,
    names: Sequence[str],
    csv_format: CsvFormat,
    chunk: int,
    path: Path,
    meter: Meter,
    **options: Any,
) -> None:
    """Parse a file and write the columns that are needed, in batches of at most `chunk` bytes."""
    columns = tuple(
        dict.fromkeys((*names, csv_format.header[-1]))
    )  # an open quote would be in the last
    share = 0.0

    def on_progress(now: float) -> None:
        nonlocal share
        share = now

    with ExitStack() as stack:
        schema, batches = stack.enter_context(
            open_batches(source.path, csv_format, on_progress, only=columns, **options)
        )
        schema = pa.schema([schema.field(name) for name in names])
        file = stack.enter_context(atomic_file(path))
        lz4 = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=get_threads() > 1)
        writer = stack.enter_context(pa.ipc.new_file(file, schema, options=lz4))
        written = 0.0
        for batch in read_ahead(_combine(batches, schema, chunk)):
            writer.write_batch(batch)
            meter.add(batch.num_rows, round(source.size * share) - round(source.size * written))
            written = share


def _combine(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, size: int
) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in larger batches, of at most `size` bytes unless one batch has more."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        selected = batch.select(schema.names)
        if waiting and sum(before.nbytes for before in waiting) + selected.nbytes > size:
            yield pa.concat_batches(waiting)
            waiting = []
        waiting.append(selected)
    if waiting:
        yield pa.concat_batches(waiting)
