"""A buffer for batches of rows: in memory while it is small, then in a temporary file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from tabnas.data._arrow_files import MIN_LARGE_BYTES, Convert, lazy_parquet
from tabnas.data._table import Table
from tabnas.errors import TabNASError

GROUP_BYTES = 16 << 20  # bytes of rows, in memory, that are written to the file together


class Spool:
    """Collects the batches of a file, and makes a table of them.

    The temporary file is removed as soon as the table has opened it, so it is never left behind.
    """

    def __init__(self, source: Path, schema: pa.Schema) -> None:
        self._source = source
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0  # of the batches that wait
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        if self._folder is None:
            return
        with suppress(OSError):  # an error has been raised already
            self._writer.close()
        self._folder.cleanup()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= (MIN_LARGE_BYTES if self._folder is None else GROUP_BYTES):
            self._write()

    def table(self, convert: Mapping[str, Convert]) -> Table:
        """Return the table of all rows, with the columns of `convert` converted."""
        if self._folder is None:
            arrow = pa.Table.from_batches(self._waiting, self._schema)
            for name, function in convert.items():
                number = arrow.column_names.index(name)
                arrow = arrow.set_column(number, name, function(arrow.column(number)))
            return Table(arrow)
        self._write()
        with self._writing():
            self._writer.close()
        source = pa.OSFile(str(self._path))
        restore = _find_restoring_casts(self._schema, parquet.ParquetFile(source).schema_arrow)
        return lazy_parquet(source, self._source.name, restore | dict(convert))

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "table.parquet"

    def _write(self) -> None:
        with self._writing():
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="tabnas-")
                texts = [c.name for c in self._schema if pa.types.is_string(c.type)]
                self._writer = parquet.ParquetWriter(
                    self._path,
                    self._schema,
                    compression="lz4",
                    use_dictionary=texts,  # numbers repeat less
                    write_statistics=False,  # nobody looks for rows by value
                )
            if self._waiting:
                rows = pa.Table.from_batches(self._waiting, self._schema)
                self._writer.write_table(rows, row_group_size=max(len(rows), 1))
        self._waiting, self._bytes = [], 0

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = os.strerror(error.errno) if error.errno else error
            raise TabNASError(
                f"{self._source.name!r} is read by way of a temporary file, since it is large, "
                f"but there is no room for that in {tempfile.gettempdir()!r} ({problem}); "
                "set TMPDIR to another folder"
            ) from None


def _find_restoring_casts(expected: pa.Schema, in_file: pa.Schema) -> dict[str, Convert]:
    """Return casts for the columns whose type Parquet does not have, such as seconds."""
    return {
        field.name: partial(pc.cast, target_type=field.type)
        for field, stored in zip(expected, in_file, strict=True)
        if field.type != stored.type
    }
