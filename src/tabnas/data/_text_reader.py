"""Separated text (CSV, TSV) to tables, a block at a time, with types that hold for all rows.

Files of any size take the same way. Arrow finds the types of the columns in the first megabytes.
Where a later value contradicts its column's type, the column gets the first type in Arrow's own
order that bears all values, and the file is read from its start once more. So the types do not
depend on where blocks end: they are those that Arrow finds in the file as a whole.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tabnas.data._kinds import LEADING_ZERO
from tabnas.data._number_text import DecimalContext, DecimalMarks
from tabnas.data._separated import EUROPEAN, SeparatedForm, find_form, not_utf8, opened
from tabnas.data._sources import as_chunks
from tabnas.data._spool import Spool
from tabnas.data._table import Table
from tabnas.data._values import RowError, texts
from tabnas.errors import TabNASError

SAMPLE = 16 << 20  # bytes of which types are found; more of them need fewer second readings
BLOCK = 1 << 20  # bytes that are parsed at a time; Arrow holds some dozens of such blocks
LONGEST_RECORD = 1 << 28

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

LEADING_ZERO_CELL = re.compile(rb"[,;\t|\"\r\n] *[+-]?0[0-9]")

Observer = Callable[[float], None]
"""Is told which share of a file has been read."""


def read_separated(
    path: Path,
    *,
    separator: str,
    names: Sequence[str] = (),
    text: Collection[str] = (),
    decimal: str | None = None,
    observe: Observer = lambda share: None,
) -> Table:
    """Read a table, which is in memory if it is small and in a temporary file if not.

    The header decides the separator, if it can be seen there, and `separator` if not. With
    `names`, there is no header. The columns `text` are read as they are written, and so are
    whole numbers with leading zeros and whatever may be read by two decimal marks, unless
    `decimal` or other columns settle that.
    """
    form = find_form(path, separator=separator, names=names)
    form = replace(form, types={name: pa.string() for name in form.header if name in text})
    types, exact = sampled_types(path, form)
    floats = [name for name, kind in types.items() if pa.types.is_floating(kind)]
    exact |= form.types.keys()
    as_texts = dict.fromkeys(floats, pa.string())
    form = replace(form, types={**types, **(as_texts if is_european(form) else {})})
    reading = partial(_read, path, observe, exact, decimal)
    table: Table = read_typed(path, form, reading)
    if (
        floats and not is_european(form) and table.decimals.mark == ","
    ):  # then 1.5 must be seen as it is
        table = read_typed(path, replace(form, types={**types, **as_texts}), reading)
    return table


def is_european(form: SeparatedForm) -> bool:
    """Whether values are separated as where commas separate decimals: 1.5 may be no decimal."""
    return form.separator == EUROPEAN


def sampled_types(path: Path, form: SeparatedForm) -> tuple[dict[str, pa.DataType], set[str]]:
    """The types of all columns, as far as the start of the file tells.

    Also the columns of whole numbers with leading zeros, whose type is that of texts.
    """
    with opened(path) as file:
        start = file.read(SAMPLE + 1)  # one byte more than a block, for its last record may be cut
    try:
        with csv.open_csv(pa.BufferReader(start), **form.options(block_size=SAMPLE)) as reader:
            types = {column.name: column.type for column in reader.schema}
            zeros = find_leading_zeros(start, form, types)
    except pa.ArrowInvalid:  # whoever reads it all says what is wrong
        return dict(form.types), set()
    return types | dict.fromkeys(zeros, pa.string()), zeros


def find_leading_zeros(
    start: bytes, form: SeparatedForm, types: Mapping[str, pa.DataType]
) -> set[str]:
    """The columns of whole numbers of which some are written with leading zeros."""
    whole = [name for name, kind in types.items() if pa.types.is_integer(kind)]
    if not whole or not re.search(LEADING_ZERO_CELL, start):
        return set()
    as_written = replace(form, types={**form.types, **dict.fromkeys(whole, pa.string())})
    options = as_written.options(only=whole, block_size=SAMPLE)
    with csv.open_csv(pa.BufferReader(start), **options) as reader:
        rows = reader.read_next_batch()
    return {name for name in whole if _has_leading_zeros(rows.column(name))}


def _has_leading_zeros(column: Any) -> bool:
    matches = pc.match_substring_regex(pc.utf8_trim_whitespace(column), LEADING_ZERO)
    return bool(pc.any(matches).as_py())


def read_typed(path: Path, form: SeparatedForm, read: Callable[[SeparatedForm], Any]) -> Any:
    """What `read` gives once every column has a type that all of its values bear."""
    types = dict(form.types)
    while True:
        try:
            return read(replace(form, types=types))
        except pa.ArrowInvalid as error:
            found = CONTRADICTION.fullmatch(str(error))
            if found is None:
                raise TabNASError(form.problem(path, str(error))) from None
            column, kind, value = found.groups()
            types[form.header[int(column)]] = _wider(form, kind, value)


def _wider(form: SeparatedForm, kind: str, value: str) -> pa.DataType:
    """The type to try next for a column of type `kind` with a value that is none.

    It is the value's own type if that comes later in Arrow's order. Else the column has values that
    the value's type does not bear, for that was tried before, and so only texts are left.
    """
    alone = SeparatedForm(separator=form.separator, header=("value",), skip=0, newlines=True)
    quoted = '"' + value.replace('"', '""') + '"\n'
    own = csv.read_csv(pa.BufferReader(quoted.encode()), **alone.options()).schema.field(0).type
    later = RANKS.get(str(own), -1) > RANKS.get(kind, len(TYPES))
    ambiguous = is_european(form) and pa.types.is_floating(own)
    return own if later and not ambiguous else pa.string()


def _read(
    path: Path,
    observe: Observer,
    exact: Collection[str],
    decimal: str | None,
    form: SeparatedForm,
) -> Table:
    """Read all blocks, or larger ones if records are longer than those."""
    size = BLOCK
    read = partial(_read_blocks, path, observe, exact, decimal, form)
    while True:
        try:
            return read(block_size=size)
        except pa.ArrowInvalid as error:
            if "columns, got" in str(error):  # one thread knows which row it is in
                return read(block_size=size, use_threads=False)
            headless = "Could not skip" in str(error)  # the header's end is not in the block
            if not headless and "straddling" not in str(error):
                raise
            if size >= LONGEST_RECORD:
                if headless:  # there is nothing else in the file
                    return Table(pa.table({name: pa.nulls(0) for name in form.header}))
                raise
            size *= 16


def _read_blocks(
    path: Path,
    observe: Observer,
    exact: Collection[str],
    decimal: str | None,
    form: SeparatedForm,
    **options: Any,
) -> Table:
    whole = max(path.stat().st_size, 1)
    with (
        pa.OSFile(str(path)) as file,
        _unzipped(path, file) as source,
        csv.open_csv(source, **form.options(**options)) as reader,
        Spool(path, reader.schema) as spool,
    ):
        found = _Found(path, reader.schema)
        for batch in reader:
            found.add(batch)
            spool.add(batch)
            observe(min(file.tell() / whole, 1.0))
        found.refuse_open_quote()
        mark = decimal or found.decimals.mark
        own = dict(found.decimals.plain_columns(mark))
        numbers = {n: partial(as_numbers, mark) for n, mark in own.items() if n not in exact}
        return spool.table(numbers).with_decimals(decimals_of(form, mark, own))


@contextmanager
def _unzipped(path: Path, file: Any) -> Iterator[Any]:
    if path.suffix.lower() != ".gz":
        yield file
        return
    with pa.CompressedInputStream(file, "gzip") as unzipped:
        yield unzipped


class _Found:
    """What is seen of a file while it is read; what is no text is refused."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        for column in schema:
            if pa.types.is_binary(column.type):  # so Arrow takes a column that is no UTF-8
                raise TabNASError(not_utf8(path, f"the column {column.name!r}"))
        self.decimals = DecimalMarks()
        self._path = path
        self._texts = [column.name for column in schema if column.type == pa.string()]
        self._rows = 0
        self._last: Any = None  # value of the last column

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at some rows more."""
        for name in self._texts:
            if _holds_zero_byte(batch.column(name)):
                row = pc.index(pc.match_substring(batch.column(name), "\0"), True).as_py()
                raise RowError(
                    f"{self._path.name!r} must be text, but the column {name!r} in",
                    self._rows + row,
                    "holds a zero byte; save the file as UTF-8",
                )
        add_decimals(self.decimals, batch, self._texts)
        self._rows += batch.num_rows
        if batch.num_rows:
            self._last = batch.column(batch.num_columns - 1)[-1].as_py()

    def refuse_open_quote(self) -> None:
        """Refuse a last value that swallowed the rest of the file, which Arrow does not mind."""
        if not isinstance(self._last, str) or "\n" not in self._last:
            return
        with opened(self._path) as file:
            (line,) = deque((line for line in file if line.strip()), maxlen=1)
        if not line.rstrip().endswith(b'"'):
            raise TabNASError(
                f"{self._path.name!r} must close every quote, but its row {self._rows} runs to "
                "the end of the file; double a quote that is meant as such, and quote its value"
            )


def _holds_zero_byte(texts: pa.Array) -> bool:
    data = texts.buffers()[2]
    return data is not None and not np.frombuffer(data, np.uint8).all()


def add_decimals(found: DecimalMarks, rows: Any, names: Iterable[str]) -> None:
    """Look for decimal marks in some rows more, where columns may still be numbers."""
    for name in names:
        if found.is_open(name):
            found.add(name, texts(as_chunks(rows.column(name))))


def decimals_of(form: SeparatedForm, mark: str | None, own: Mapping[str, str]) -> DecimalContext:
    """What a file shows of its decimal mark, and of those of some columns."""
    return DecimalContext(mark, None if is_european(form) else ".", own)


def as_numbers(decimal: str, column: Any) -> Any:
    """The numbers of texts with that decimal mark, without units and groups."""
    return pc.replace_substring(texts(column), decimal, ".").cast(pa.float64())
