"""A table of named columns from any source, in Arrow's memory layout."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from tabnas.data import _conversion as conversion
from tabnas.data._number_text import DEFAULT_DECIMALS, DecimalContext, DecimalMarkDetector
from tabnas.data._values import check_column_type, is_numeric_type, is_text, to_texts
from tabnas.errors import TabNASError, did_you_mean
from tabnas.threads import claim_cores, release_cores, stream_in_threads
from tabnas.types import IntArray

T = TypeVar("T")
MAX_COLUMNS = 4  # of a table that are in memory at a time
MIN_SHARED_ROWS = 1 << 14  # of columns that are worth more than one thread
Scan = Callable[[Sequence[int], int], Iterator[pa.Table]]
"""Reads columns, given by number, in tables of that many rows, from the first row to the last."""

_decimals_lock = RLock()  # of several threads that encode columns, one looks for the mark


class Table:
    """Columns of equal length, in order, by name.

    `Table.from_data` accepts pandas and polars frames, pyarrow tables, mappings of columns, and
    two-dimensional arrays, whose columns are called x0, x1, and so on. Spaces around a name are not
    part of it.

    >>> table = Table.from_data({"age": [31, 44], " city": ["Bern", None]})
    >>> table.names, len(table)
    (['age', 'city'], 2)
    """

    def __init__(self, arrow: pa.Table, *, has_names: bool = True) -> None:
        names = check_names("the table", arrow.column_names)
        self._set(names, range(len(names)), arrow.num_rows, arrow.column, has_names=has_names)

    @classmethod
    def lazy(
        cls,
        names: Sequence[str],
        rows: int,
        load: Callable[[int], Any],
        *,
        scan: Scan | None = None,
        has_names: bool = True,
    ) -> Table:
        """Make a table whose columns are loaded, by number, whenever they are used.

        So a large table need not be in memory, or not twice, to be encoded column by column. With
        `scan`, `iter_batches` does not even load a complete column.
        """
        table = cls.__new__(cls)
        checked = check_names("the table", names)
        table._set(checked, range(len(checked)), rows, load, scan=scan, has_names=has_names)
        return table

    def with_decimals(self, decimals: DecimalContext) -> Table:
        """Return the table as one read from a CSV file that shows this decimal mark."""
        numbers = self._number.values()
        return self._with(self.names, numbers, decimals=decimals, is_separated=True)

    def _set(
        self,
        names: Sequence[str],
        numbers: Iterable[int],
        rows: int,
        load: Callable[[int], Any],
        *,
        scan: Scan | None = None,
        has_names: bool,
        decimals: DecimalContext | None = None,
        origin: Table | None = None,
        is_separated: bool = False,
    ) -> None:
        self.has_names = has_names
        """False if the names were made up; then columns are matched by position."""
        self._number = dict(zip(names, numbers, strict=True))
        self._rows = rows
        self._load = load
        self._scan = scan
        self._decimals = decimals  # None: not known yet
        self._origin = origin  # the table of all columns and rows, which may show them
        self._is_separated = is_separated

    def _with(self, names: Sequence[str], numbers: Iterable[int], **changes: Any) -> Table:
        table = Table.__new__(Table)
        state: dict[str, Any] = {
            "rows": self._rows,
            "load": self._load,
            "scan": self._scan,
            "has_names": self.has_names,
            "decimals": self._decimals,
            "origin": self._origin or self,
            "is_separated": self._is_separated,
        }
        table._set(names, numbers, **(state | changes))
        return table

    @classmethod
    def from_data(cls, data: Any) -> Table:
        """Make a table of a frame, an array, a mapping or a list of rows."""
        origin = type(data).__module__.split(".")[0]
        if isinstance(data, Table):
            return data
        if isinstance(data, pa.Table):
            return cls(data)
        if isinstance(data, np.ndarray):
            return cls._from_array(data)
        if origin == "pandas":
            return cls(conversion.from_pandas(data))
        if origin == "scipy":
            raise TabNASError(
                "a table must be dense, got a sparse matrix; densify it with .toarray()"
            )
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return cls(conversion.from_arrow(data))
        if isinstance(data, Mapping):
            return cls(conversion.from_mapping(data))
        if isinstance(data, Sequence) and not isinstance(data, str | bytes):
            return cls(conversion.from_rows(data), has_names=False)
        if hasattr(data, "__array__"):  # tensors and the like
            return cls.from_data(np.asarray(data))
        raise TabNASError(
            "a table must be a pandas or polars frame, a pyarrow table, a mapping of columns or a "
            f"two-dimensional array, got {type(data).__name__}"
        )

    @classmethod
    def _from_array(cls, array: np.ndarray) -> Table:
        if array.ndim == 2 and array.dtype.kind in "biuf":
            names = [f"x{i}" for i in range(array.shape[1])]
            return cls.lazy(
                names,
                len(array),
                lambda i: conversion.to_arrow(names[i], array[:, i]),
                has_names=False,
            )
        return cls(conversion.from_array(array), has_names=array.dtype.names is not None)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._number)

    @property
    def arrow(self) -> pa.Table:
        """All columns, loaded."""
        columns = [conversion.as_chunks(self._load(number)) for number in self._number.values()]
        return pa.Table.from_arrays(columns, names=self.names)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __contains__(self, name: str) -> bool:
        return name.strip() in self._number

    def resolve_name(self, name: str) -> str:
        """Return the name as the table has it; raise an error if there is none."""
        if name not in self:
            raise TabNASError(
                f"there is no column {name!r}; {did_you_mean(name, self.names)}"
                f"{self._header_hint()}"
            )
        return name.strip()

    def _header_hint(self) -> str:
        """Return a hint if the first row seems to have been taken for names."""
        if any(re.fullmatch(r"-?\d*\.\d+", name) for name in self.names):
            return "; these look like values: the first line must hold the names of the columns"
        if len(self.names) == 1 and " " in self.names[0]:
            return (
                "; if these are several columns, separate them by commas, semicolons, tabs or "
                "bars, and let the first line hold their names"
            )
        return ""

    def column(self, name: str, rows: IntArray | None = None) -> pa.ChunkedArray:
        """Return a column, or the rows of it with these numbers; nothing else is copied."""
        column = conversion.normalize_layout(
            conversion.as_chunks(self._load(self._number[self.resolve_name(name)]))
        )
        return column if rows is None else _take(name, column, rows)

    def map_columns(
        self,
        function: Callable[[str, pa.ChunkedArray], T],
        names: Iterable[str],
        rows: IntArray | None = None,
    ) -> list[T]:
        """Return the function of each of some columns, and of its name; idle cores take some.

        Each thread loads one column at a time, all of it or the rows with these numbers.
        """
        names = list(names)
        length = len(self) if rows is None else len(rows)
        at_once = min(len(names), MAX_COLUMNS) if length >= MIN_SHARED_ROWS else 1
        return list(
            stream_in_threads(
                lambda name: function(name, self.column(name, rows)), names, count=at_once
            )
        )

    @property
    def decimals(self) -> DecimalContext:
        """What the file or frame of the table shows of its decimal mark."""
        with _decimals_lock:
            if self._decimals is None:
                origin = self._origin
                self._decimals = self._find_decimals() if origin is None else origin.decimals
            return self._decimals

    def decimals_for(self, column: pa.ChunkedArray) -> DecimalContext:
        """Return the decimal mark for texts, and for all columns of CSV files."""
        return self.decimals if self._is_separated or is_text(column) else DEFAULT_DECIMALS

    def _find_decimals(self) -> DecimalContext:
        def find_texts(_: str, column: pa.ChunkedArray) -> Any:
            if not is_text(column) or pa.types.is_dictionary(column.type):
                return None
            return to_texts(conversion.as_chunks(column.unique()))

        detector = DecimalMarkDetector()
        for name, texts in zip(self, self.map_columns(find_texts, self), strict=True):
            if texts is not None:
                detector.add(name, texts)
        return DecimalContext(detector.mark, shown=detector.shown)

    @property
    def text_columns(self) -> list[str]:
        """The columns that must be read as text in another file like this one.

        These are texts and, if the decimal mark is a comma, numbers: 1.234 may be 1,234 there.
        """
        commas = self._is_separated and self.decimals.mark == ","

        def is_written(_: str, column: pa.ChunkedArray) -> bool:
            return is_text(column) or (commas and is_numeric_type(column.type))

        found = self.map_columns(is_written, self)
        return [name for name, is_one in zip(self, found, strict=True) if is_one]

    def drop(self, names: Sequence[str]) -> Table:
        """Return the table without some columns."""
        dropped = {self.resolve_name(name) for name in names}
        numbers = {name: number for name, number in self._number.items() if name not in dropped}
        return self._with(list(numbers), numbers.values())

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with only these columns, in this order."""
        numbers = {known: self._number[known] for known in map(self.resolve_name, names)}
        return self._with(list(numbers), numbers.values())

    def rename(self, names: Sequence[str], *, has_names: bool) -> Table:
        """Return the table with other column names."""
        return self._with(list(names), self._number.values(), has_names=has_names)

    def take(self, rows: IntArray) -> Table:
        """Return the rows with these numbers; each column is copied when it is used."""
        names = {number: name for name, number in self._number.items()}

        def load(number: int) -> pa.ChunkedArray:
            return self.column(names[number], rows)

        return self._with(self.names, self._number.values(), rows=len(rows), load=load, scan=None)

    def iter_batches(self, rows: int) -> Iterator[Table]:
        """Yield tables of `rows` rows, the last one smaller.

        Of a large file, only the current batch and the next one are in memory.
        """
        for arrow in self._iter_arrow(rows):
            batch = Table(arrow.rename_columns(self.names), has_names=self.has_names)
            known = {"decimals": self._decimals, "is_separated": self._is_separated}
            origin = self._origin or self
            yield batch._with(batch.names, range(len(batch.names)), origin=origin, **known)

    def _iter_arrow(self, rows: int) -> Iterator[pa.Table]:
        if self._scan is not None:
            return read_ahead(self._scan(list(self._number.values()), rows))
        arrow = self.arrow
        return (arrow.slice(start, rows) for start in range(0, len(self), rows))


def set_decimal_mark(table: Table, decimal: str | None) -> Table:
    """Return the table with the decimal mark that the user has given, if any."""
    return table if decimal is None else table.with_decimals(DecimalContext(decimal))


def read_ahead(batches: Iterator[T], *, depth: int = 1) -> Iterator[T]:
    """Yield the same items; if a core is idle, it computes `depth` of them ahead."""
    if not claim_cores(1):
        yield from batches
        return
    pool = ThreadPoolExecutor(1, thread_name_prefix="tabnas-batches")
    coming = deque(pool.submit(next, batches, None) for _ in range(depth))
    try:
        while (batch := coming.popleft().result()) is not None:
            coming.append(pool.submit(next, batches, None))
            yield batch
    finally:
        pool.shutdown(cancel_futures=True)
        release_cores(1)


def _take(name: str, column: pa.ChunkedArray, rows: IntArray) -> pa.ChunkedArray:
    try:
        return column.take(pa.array(rows, pa.int64()))
    except pa.ArrowNotImplementedError:  # the type cannot be a feature either
        check_column_type(name, column)
        raise


def check_names(what: str, names: Sequence[str]) -> list[str]:
    """Return the names without spaces around them; raise an error if one is empty or repeated."""
    stripped = [name.strip() for name in names]
    seen: set[str] = set()
    for i, name in enumerate(stripped):
        if not name:
            raise TabNASError(
                f"column {i + 1} of {what} has no name; give it one, "
                "or save the table without its index if it is that"
            )
        if name in seen:
            raise TabNASError(f"{what} has several columns called {name!r}; rename them")
        seen.add(name)
    return stripped
