"""Separated text in chunks: whole records, parsed by Arrow, columns of the types agreed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from tabnas.data import Table
from tabnas.data.reading import SeparatedForm, opened, reading
from tabnas.errors import TabNASError
from tabnas.stores._chunks import Chunk, refuse_other_columns
from tabnas.stores._kernels import scan_records
from tabnas.stores._sources import Source

LONGEST_RECORD = 1 << 28
BLOCK = 1 << 22  # bytes that one thread parses
LOOK = 1 << 16  # bytes in which a line should end


@dataclass(frozen=True, eq=False)
class Records:
    """Bytes of whole records."""

    data: bytes
    bytes: int  # on disk
    end: int | None  # the place behind them


@dataclass(frozen=True, kw_only=True)
class TextReader:
    """Reads CSV and its like; where a value contradicts its column's type, a chunk comes as texts.

    So whoever asks for numbers finds the row that has none, and says which.
    """

    form: SeparatedForm
    size: int  # bytes of a chunk
    only: tuple[str, ...] = ()  # the columns that are wanted; none: all
    types: Mapping[str, pa.DataType] = field(default_factory=dict)  # of others than texts

    def chunks(self, source: Source, start: int, stop: int | None, row: int) -> Iterator[Chunk]:
        """The records from one byte to another; a gzipped file is read as a whole."""
        for records in self.records(source, start, stop):
            table = self._parsed(source, records.data, row)
            row += table.num_rows
            yield Chunk(Table(table), records.bytes, records.end)

    def records(self, source: Source, start: int = 0, stop: int | None = None) -> Iterator[Records]:
        """Whole records of about `size` bytes together, without the header."""
        with opened(source.path) as file:
            if start:
                file.seek(start)
            for _ in range(0 if start else self.form.skip):
                file.readline()
            disk = file.fileobj if source.is_zipped else file
            before = start  # the header counts, too
            for data, left in self._whole(source, file, stop):
                if b"\0" in data:
                    raise TabNASError(
                        f"{source.path.name!r} must be text, but it holds a zero byte; save "
                        "the file as UTF-8"
                    )
                now = disk.tell() if source.is_zipped else disk.tell() - left
                yield Records(data, now - before, None if source.is_zipped else now)
                before = now

    def _whole(self, source: Source, file: Any, stop: int | None) -> Iterator[tuple[bytes, int]]:
        """Bytes of whole records, and how many bytes were read beyond them."""
        left = b""
        while read := file.read(self._ahead(file.tell(), stop)):
            block = left + read
            end = self._end(block)
            if end == 0 and len(block) >= LONGEST_RECORD:
                raise _unclosed(source)
            left = block[end:]
            if end:
                yield block[:end], len(left)
        if left:
            if self._quotes(left) and scan_records(*self._scanned(left))[1]:
                raise _unclosed(source)
            yield left, 0

    def _ahead(self, place: int, stop: int | None) -> int:
        """How many bytes to read: to a multiple of the size, wherever reading has begun.

        So records come together in the same chunks to whoever goes on and to who was never
        interrupted.
        """
        ahead = self.size - place % self.size
        return ahead if stop is None else min(ahead, stop - place)

    def _end(self, block: bytes) -> int:
        """Just behind the last record that ends in a block."""
        if not self._quotes(block):
            return block.rfind(b"\n") + 1
        return int(scan_records(*self._scanned(block))[0])

    def _quotes(self, block: bytes) -> bool:
        return self.form.newlines and b'"' in block

    def _scanned(self, block: bytes) -> tuple[Any, int]:
        return np.frombuffer(block, np.uint8), ord(self.form.separator)

    def _parsed(self, source: Source, data: bytes, row: int) -> Any:
        form = replace(self.form, skip=0, newlines=self._quotes(data))
        names = self.only or form.header
        texts = {name: pa.string() for name in names}
        try:
            table = read_records(replace(form, types=texts | dict(self.types)), data, names)
        except pa.ArrowInvalid:
            try:
                # one thread knows which row it is in
                table = read_records(replace(form, types=texts), data, names, use_threads=False)
            except pa.ArrowInvalid as error:
                problem = form.problem(source.path, str(error), rows_before=row)
                raise TabNASError(problem) from None
        return table


def read_records(
    form: SeparatedForm, data: bytes, only: Sequence[str] = (), *, use_threads: bool = True
) -> Any:
    """An Arrow table of records without a header; none if there are only empty lines."""
    if data.isspace():
        return pa.table({name: pa.nulls(0, pa.string()) for name in only or form.header})
    options = replace(form, skip=0).options(
        only=only, use_threads=use_threads, block_size=BLOCK if use_threads else len(data) + 1
    )
    return csv.read_csv(pa.BufferReader(data), **options)


def refuse_other_form(source: Source, form: SeparatedForm, found: SeparatedForm) -> None:
    """All files of a store are written alike."""
    refuse_other_columns(source, form.header, found.header)
    if found.separator != form.separator:
        raise TabNASError(
            f"{source.path.name!r} must separate values by {form.separator!r}, as the first file "
            f"does, but it has {found.separator!r}"
        )


def refuse_carriage_returns(source: Source) -> None:
    """Lines must end in a newline: without any, all of a file would be one line."""
    with reading(source.path), opened(source.path) as file:
        start = file.read(LOOK)
    if b"\r" in start and b"\n" not in start:
        raise TabNASError(
            f"{source.path.name!r} must end its lines with a newline, but they end with a "
            "carriage return alone; convert it, for example with: tr '\\r' '\\n'"
        )


def _unclosed(source: Source) -> TabNASError:
    return TabNASError(
        f"{source.path.name!r} must close every quote and end its lines, but one goes on and "
        "on; double a quote that is meant as such, and quote its value"
    )
