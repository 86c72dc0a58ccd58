"""Read the rows of a file block by block, in blocks that hold its longest record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import csv

from tabnas.data.csv_files._format import CsvFormat, is_zipped, translate_read_errors
from tabnas.data.csv_files._text_check import TextCheck
from tabnas.threads import get_threads

MAX_RECORD_BYTES = 1 << 28
HEADER_TOO_LONG = "Could not skip"  # Arrow's error if the header does not end in the block
T = TypeVar("T")

FractionCallback = Callable[[float], None]
"""Called with the fraction of the work that is done."""


@contextmanager
def open_batches(
    path: Path,
    csv_format: CsvFormat,
    on_progress: FractionCallback = lambda fraction: None,
    *,
    only: Sequence[str] = (),
    **options: Any,
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """Open a file; give its schema and an iterator over its rows, block by block.

    The iterator raises an error if the file is not text in UTF-8 or leaves a quote open, and calls
    `on_progress` with the fraction of the file that has been read. The columns `only`, if it names
    any, must include the last one, which an open quote would be in.
    """
    with ExitStack() as stack:
        with translate_read_errors(path, arrow=False):
            size = max(path.stat().st_size, 1)
            file = stack.enter_context(pa.OSFile(str(path)))
            text = stack.enter_context(_unzip(path, file))
            options = {"use_threads": get_threads() > 1} | options
            reader = stack.enter_context(
                csv.open_csv(text, **csv_format.options(only=only, **options))
            )
        check = TextCheck(path, reader.schema, csv_format.header[-1])

        def batches() -> Iterator[pa.RecordBatch]:
            with translate_read_errors(path, arrow=False):
                for batch in reader:
                    check.add(batch)
                    on_progress(min(file.tell() / size, 1.0))
                    yield batch
                check.check_last_quote()

        yield reader.schema, batches()


@contextmanager
def _unzip(path: Path, file: Any) -> Iterator[Any]:
    if not is_zipped(path):
        yield file
        return
    with pa.CompressedInputStream(file, "gzip") as unzipped:
        yield unzipped


def read_with_larger_blocks(read: Callable[..., T], block_size: int) -> T | None:
    """Call `read` with blocks that are large enough for the longest record.

    Returns None if the file ends before its header does, so that it has no rows.
    """
    while True:
        try:
            return read(block_size=block_size)
        except pa.ArrowInvalid as error:
            if "columns, got" in str(error):  # one thread knows the number of the row
                return read(block_size=block_size, use_threads=False)
            if not needs_larger_block(error):
                raise
            if block_size >= MAX_RECORD_BYTES:
                if HEADER_TOO_LONG in str(error):
                    return None
                raise
            block_size *= 16


def needs_larger_block(error: pa.ArrowInvalid) -> bool:
    """Return whether a record, or the header, does not end in the block."""
    return HEADER_TOO_LONG in str(error) or "straddling" in str(error)
