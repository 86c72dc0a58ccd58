"""Read CSV and TSV files block by block, with types that hold for all rows.

Arrow infers the types of the columns from the first megabytes. If a later value contradicts its
column's type, the column gets the first type in Arrow's order that fits all values, and the file is
read from its start again. So the types do not depend on where blocks end: they are those that Arrow
would infer from the complete file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tabnas.data._conversion import as_chunks
from tabnas.data._csv_format import (
    EUROPEAN,
    CsvFormat,
    describe_encoding_error,
    detect_csv_format,
    open_file,
    translate_read_errors,
)
from tabnas.data._kinds import LEADING_ZERO
from tabnas.data._number_text import DecimalContext, DecimalMarkDetector
from tabnas.data._spool import Spool
from tabnas.data._table import Table
from tabnas.data._values import RowError, to_texts
from tabnas.errors import TabNASError

SAMPLE_BYTES = 16 << 20  # bytes of which types are found; more of them need fewer second readings
BLOCK_BYTES = 1 << 20  # bytes that are parsed at a time; Arrow holds some dozens of such blocks
MAX_RECORD_BYTES = 1 << 28
T = TypeVar("T")

TYPES = (
    *(pa.null(), pa.int64(), pa.bool_(), pa.float64(), pa.date32(), pa.time32("s")),
    *(pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC")),
    pa.string(),
)
"""The types of columns, in the order in which Arrow tries them."""
RANKS = {str(kind): rank for rank, kind in enumerate(TYPES)}
CONTRADICTION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to ([^:]+): "
    r"(?:invalid value|expected (?:a|no) zone offset in) '(.*)'.*",
    re.DOTALL,
)

HEADLESS = "Could not skip"  # Arrow's error if the header does not end in the block
LEADING_ZERO_CELL = re.compile(rb"[,;\t|\"\r\n] *[+-]?0[0-9]")

ProgressCallback = Callable[[float], None]
"""Called with the fraction of the file that has been read."""


def read_csv(
    path: Path,
    *,
    separator: str,
    names: Sequence[str] = (),
    text: Collection[str] = (),
    decimal: str | None = None,
    observe: ProgressCallback = lambda share: None,
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
        csv_format, types={**types, **(as_texts if is_european(csv_format) else {})}
    )
    read = partial(_read, path, observe, exact, decimal)
    table: Table = read_typed(path, csv_format, read)
    if (
        floats and not is_european(csv_format) and table.decimals.mark == ","
    ):  # then 1.5 must be seen as it is
        table = read_typed(path, replace(csv_format, types={**types, **as_texts}), read)
    return table


def is_european(csv_format: CsvFormat) -> bool:
    """Return whether the separator suggests decimal commas, so that 1.500 may be 1,500."""
    return csv_format.separator == EUROPEAN


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


@dataclass(frozen=True)
class FileStart:
    """The first bytes of a file, unzipped, in memory."""

    path: Path
    data: bytes
    size: int  # of the block to parse; there is one byte more of data, unless the file ends
    size_on_disk: int

    @classmethod
    def read(cls, path: Path, size: int) -> FileStart:
        """Read the first `size` bytes of text."""
        with open_file(path) as file:
            data = file.read(size + 1)  # so that Arrow leaves out a record that is cut
            on_disk = (file.fileobj if is_zipped(path) else file).tell()
        return cls(path, data, size, on_disk)

    @classmethod
    def read_records(cls, path: Path, csv_format: CsvFormat, size: int) -> FileStart | None:
        """Read the first `size` bytes, or as many as hold a record; None if there are no rows."""

        def read(block_size: int, use_threads: bool = False) -> FileStart:
            start = cls.read(path, block_size)
            first = csv_format.header[:1]
            try:
                start.parse(replace(csv_format, types={first[0]: pa.string()}), only=first)
            except pa.ArrowInvalid as error:
                if needs_larger_block(error):
                    raise
            return start

        return read_with_larger_blocks(read, size)

    def parse(self, csv_format: CsvFormat, only: Sequence[str] = ()) -> pa.Table:
        """Parse the complete records. One thread does it, so that errors name the row."""
        options = csv_format.options(only=only, block_size=self.size, use_threads=False)
        with csv.open_csv(pa.BufferReader(self.data), **options) as reader:
            check = _TextCheck(self.path, reader.schema, csv_format.header[-1])
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return reader.schema.empty_table()
        check.add(batch)
        return pa.Table.from_batches([batch])

    def find_leading_zeros(
        self, csv_format: CsvFormat, types: Mapping[str, pa.DataType]
    ) -> set[str]:
        """Return the columns of integers of which some are written with leading zeros."""
        integers = [name for name, kind in types.items() if pa.types.is_integer(kind)]
        if not integers or not re.search(LEADING_ZERO_CELL, self.data):
            return set()
        as_text = replace(
            csv_format, types={**csv_format.types, **dict.fromkeys(integers, pa.string())}
        )
        rows = self.parse(as_text, only=integers)
        return {name for name in integers if _has_leading_zeros(rows.column(name))}


def _has_leading_zeros(column: Any) -> bool:
    matches = pc.match_substring_regex(pc.utf8_trim_whitespace(column), LEADING_ZERO)
    return bool(pc.any(matches).as_py())


def read_typed(
    path: Path,
    csv_format: CsvFormat,
    read: Callable[[CsvFormat], Any],
    widen: Callable[[CsvFormat, str, str], pa.DataType] | None = None,
) -> Any:
    """Call `read` with types for the columns until every value has its column's type.

    Where a value contradicts its column's type, `widen` chooses the type to try next from the
    format, the column's type and the value.
    """
    types = dict(csv_format.types)
    while True:
        try:
            return read(replace(csv_format, types=types))
        except pa.ArrowInvalid as error:
            found = CONTRADICTION.fullmatch(str(error))
            if found is None:
                raise TabNASError(csv_format.describe_problem(path, str(error))) from None
            column, kind, value = found.groups()
            types[csv_format.header[int(column)]] = (widen or next_type)(csv_format, kind, value)


def is_contradiction(error: Exception) -> bool:
    """Return whether an error of Arrow's says that a value contradicts its column's type."""
    return CONTRADICTION.fullmatch(str(error)) is not None


def next_type(csv_format: CsvFormat, kind: str, value: str) -> pa.DataType:
    """Return the type to try next for a column of type `kind` with a value of another type.

    It is the value's own type if that comes later in Arrow's order. If not, that type was tried
    before and did not fit other values, and only text is left.
    """
    single = CsvFormat(
        separator=csv_format.separator, header=("value",), skip=0, allows_newlines=True
    )
    quoted = '"' + value.replace('"', '""') + '"\n'
    own = csv.read_csv(pa.BufferReader(quoted.encode()), **single.options()).schema.field(0).type
    later = RANKS.get(str(own), -1) > RANKS.get(kind, len(TYPES))
    ambiguous = is_european(csv_format) and pa.types.is_floating(own)
    return own if later and not ambiguous else pa.string()


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
                if HEADLESS in str(error):
                    return None
                raise
            block_size *= 16


def needs_larger_block(error: pa.ArrowInvalid) -> bool:
    """Return whether a record, or the header, does not end in the block."""
    return HEADLESS in str(error) or "straddling" in str(error)


def _read(
    path: Path,
    observe: ProgressCallback,
    exact: Collection[str],
    decimal: str | None,
    csv_format: CsvFormat,
) -> Table:
    read = partial(_read_blocks, path, observe, exact, decimal, csv_format)
    table = read_with_larger_blocks(read, BLOCK_BYTES)
    return (
        Table(pa.table({name: pa.nulls(0) for name in csv_format.header}))
        if table is None
        else table
    )


def _read_blocks(
    path: Path,
    observe: ProgressCallback,
    exact: Collection[str],
    decimal: str | None,
    csv_format: CsvFormat,
    **options: Any,
) -> Table:
    with (
        open_batches(path, csv_format, observe, **options) as (schema, batches),
        Spool(path, schema) as spool,
    ):
        decimals = DecimalMarkDetector()
        text_columns = [column.name for column in schema if column.type == pa.string()]
        for batch in batches:
            detect_decimal_marks(decimals, batch, text_columns)
            spool.add(batch)
        mark = decimal or decimals.mark
        own = dict(decimals.plain_columns(mark))
        numbers = {n: partial(parse_numbers, mark) for n, mark in own.items() if n not in exact}
        return spool.table(numbers).with_decimals(make_decimal_context(csv_format, mark, own))


@contextmanager
def open_batches(
    path: Path,
    csv_format: CsvFormat,
    observe: ProgressCallback = lambda share: None,
    *,
    only: Sequence[str] = (),
    **options: Any,
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """Open a file; give its schema and an iterator over its rows, block by block.

    The iterator raises an error if the file is not text in UTF-8 or leaves a quote open, and calls
    `observe` with the fraction of the file that has been read. The columns `only`, if it names any,
    must include the last one, which an open quote would be in.
    """
    with ExitStack() as stack:
        with translate_read_errors(path, arrow=False):
            size = max(path.stat().st_size, 1)
            file = stack.enter_context(pa.OSFile(str(path)))
            text = stack.enter_context(_unzip(path, file))
            reader = stack.enter_context(
                csv.open_csv(text, **csv_format.options(only=only, **options))
            )
        check = _TextCheck(path, reader.schema, csv_format.header[-1])

        def batches() -> Iterator[pa.RecordBatch]:
            with translate_read_errors(path, arrow=False):
                for batch in reader:
                    check.add(batch)
                    observe(min(file.tell() / size, 1.0))
                    yield batch
                check.check_last_quote()

        yield reader.schema, batches()


def is_zipped(path: Path) -> bool:
    """Return whether a file is gzipped."""
    return path.suffix.lower() == ".gz"


@contextmanager
def _unzip(path: Path, file: Any) -> Iterator[Any]:
    if not is_zipped(path):
        yield file
        return
    with pa.CompressedInputStream(file, "gzip") as unzipped:
        yield unzipped


class _TextCheck:
    """Checks that the rows of a file are text in UTF-8 and that every quote is closed."""

    def __init__(self, path: Path, schema: pa.Schema, last_column: str) -> None:
        for column in schema:
            if pa.types.is_binary(column.type):  # Arrow's type of a column that is not UTF-8
                raise TabNASError(describe_encoding_error(path, f"the column {column.name!r}"))
        self._path = path
        self._text_columns = [column.name for column in schema if column.type == pa.string()]
        self._last_column = last_column if last_column in schema.names else None
        self._last_value: Any = None
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Check the next rows."""
        for name in self._text_columns:
            if _holds_zero_byte(batch.column(name)):
                row = pc.index(pc.match_substring(batch.column(name), "\0"), True).as_py()
                raise RowError(
                    f"{self._path.name!r} must be text, but the column {name!r} in",
                    self._rows + row,
                    "holds a zero byte; save the file as UTF-8",
                )
        self._rows += batch.num_rows
        if batch.num_rows and self._last_column is not None:
            self._last_value = batch.column(self._last_column)[-1].as_py()

    def check_last_quote(self) -> None:
        """Refuse a last value that swallowed the rest of the file, which Arrow accepts."""
        if not isinstance(self._last_value, str) or "\n" not in self._last_value:
            return
        with open_file(self._path) as file:
            (line,) = deque((line for line in file if line.strip()), maxlen=1)
        if not line.rstrip().endswith(b'"'):
            raise TabNASError(
                f"{self._path.name!r} must close every quote, but its row {self._rows} runs to "
                "the end of the file; double a quote that is meant as such, and quote its value"
            )


def _holds_zero_byte(texts: pa.Array) -> bool:
    data = texts.buffers()[2]
    return data is not None and not np.frombuffer(data, np.uint8).all()


def detect_decimal_marks(found: DecimalMarkDetector, rows: Any, names: Iterable[str]) -> None:
    """Look for decimal marks in some rows of the columns that may still be numbers."""
    for name in names:
        if found.may_be_numeric(name):
            found.add(name, to_texts(as_chunks(rows.column(name))))


def make_decimal_context(
    csv_format: CsvFormat, mark: str | None, own: Mapping[str, str]
) -> DecimalContext:
    """Return what a file shows of its decimal mark, and of the marks of some columns."""
    return DecimalContext(mark, None if is_european(csv_format) else ".", own)


def parse_numbers(decimal: str, column: Any) -> Any:
    """Parse texts with that decimal mark, without units and groups, as numbers."""
    return pc.replace_substring(to_texts(column), decimal, ".").cast(pa.float64())
