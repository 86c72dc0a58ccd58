"""Read a CSV or TSV file to a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabnas.data._number_text import DecimalMarkDetector
from tabnas.data._spool import Spool
from tabnas.data._table import Table, read_ahead
from tabnas.data.csv_files._blocks import FractionCallback, open_batches, read_with_larger_blocks
from tabnas.data.csv_files._decimals import (
    detect_decimal_marks,
    make_decimal_context,
    parse_numbers,
)
from tabnas.data.csv_files._format import CsvFormat, detect_csv_format
from tabnas.data.csv_files._start import FileStart
from tabnas.data.csv_files._types import read_typed

SAMPLE_BYTES = 16 << 20  # types are inferred from these; more of them need fewer second readings
BLOCK_BYTES = 1 << 20  # bytes that are parsed at a time; Arrow holds some dozens of such blocks
BLOCKS_AHEAD = 16  # that are parsed while earlier ones are written to a temporary file


def read_csv(
    path: Path,
    *,
    separator: str,
    names: Sequence[str] = (),
    text: Collection[str] = (),
    decimal: str | None = None,
    on_progress: FractionCallback = lambda fraction: None,
) -> Table:
    """Read a table, which is kept in memory if it is small and in a temporary file if not.

    `separator` is the default if the header does not show one. With `names`, the file has no
    header. The columns `text` are read as texts, and so are integers with leading zeros and numbers
    that have two meanings, one for each decimal mark, unless `decimal` or other columns decide it.
    """
    csv_format = detect_csv_format(path, separator=separator, names=names)
    csv_format = replace(
        csv_format, types={name: pa.string() for name in csv_format.header if name in text}
    )
    types, exact = sample_types(path, csv_format)
    floats = [name for name, kind in types.items() if pa.types.is_floating(kind)]
    exact |= csv_format.types.keys()
    as_texts = dict.fromkeys(floats, pa.string())
    csv_format = replace(
        csv_format, types={**types, **(as_texts if csv_format.suggests_decimal_commas else {})}
    )
    read = partial(_read, path, on_progress, exact, decimal)
    table: Table = read_typed(path, csv_format, read)
    if (
        floats and not csv_format.suggests_decimal_commas and table.decimals.mark == ","
    ):  # then 1.5 must be seen as it is
        table = read_typed(path, replace(csv_format, types={**types, **as_texts}), read)
    return table


def sample_types(path: Path, csv_format: CsvFormat) -> tuple[dict[str, pa.DataType], set[str]]:
    """Return the types of all columns, as the start of the file shows them.

    Also the columns of integers with leading zeros, whose type is text.
    """
    start = FileStart.read(path, SAMPLE_BYTES)
    try:
        types = {column.name: column.type for column in start.parse(csv_format).schema}
        zeros = start.find_leading_zeros(csv_format, types)
    except pa.ArrowInvalid:  # reading all of the file raises an error that says what is wrong
        return dict(csv_format.types), set()
    return types | dict.fromkeys(zeros, pa.string()), zeros


def _read(
    path: Path,
    on_progress: FractionCallback,
    exact: Collection[str],
    decimal: str | None,
    csv_format: CsvFormat,
) -> Table:
    read = partial(_read_blocks, path, on_progress, exact, decimal, csv_format)
    table = read_with_larger_blocks(read, BLOCK_BYTES)
    return (
        Table(pa.table({name: pa.nulls(0) for name in csv_format.header}))
        if table is None
        else table
    )


def _read_blocks(
    path: Path,
    on_progress: FractionCallback,
    exact: Collection[str],
    decimal: str | None,
    csv_format: CsvFormat,
    *,
    block_size: int,
    **options: Any,
) -> Table:
    # blocks for long records take much memory
    depth = BLOCKS_AHEAD if block_size == BLOCK_BYTES else 1
    with (
        open_batches(path, csv_format, on_progress, block_size=block_size, **options) as (
            schema,
            batches,
        ),
        Spool(path, schema) as spool,
    ):
        decimals = DecimalMarkDetector()
        text_columns = [column.name for column in schema if column.type == pa.string()]
        for batch in read_ahead(batches, depth=depth):
            detect_decimal_marks(decimals, batch, text_columns)
            spool.add(batch)
        mark = decimal or decimals.mark
        by_column = dict(decimals.plain_columns(mark))
        numbers = {
            n: partial(parse_numbers, mark) for n, mark in by_column.items() if n not in exact
        }
        shown = None if decimal else decimals.shown
        return spool.table(numbers).with_decimals(
            make_decimal_context(csv_format, mark, by_column, shown)
        )
