"""A table of named columns, whatever it came from, on Arrow's memory layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from tabnas.data import _sources as sources
from tabnas.data._number_text import ANYWHERE, DecimalContext, DecimalMarks
from tabnas.data._values import is_quantity, is_text, refuse_unfit, texts
from tabnas.errors import TabNASError, did_you_mean
from tabnas.types import IntArray

T = TypeVar("T")
Scan = Callable[[Sequence[int], int], Iterator[pa.Table]]
"""Reads the columns of some numbers in tables of so many rows, from the first row to the last."""


class Table:
    """Columns of equal length, in order, by name.

    `Table.of` takes all that holds one: pandas and polars frames, pyarrow tables, mappings of
    columns, and two-dimensional arrays, whose columns are called x0, x1, and so on. Spaces around
    a name are no part of it.

    >>> table = Table.of({"age": [31, 44], " city": ["Bern", None]})
    >>> table.names, len(table)
    (['age', 'city'], 2)
    """

    def __init__(self, arrow: pa.Table, *, named: bool = True) -> None:
        names = checked_names("the table", arrow.column_names)
        self._set(names, range(len(names)), arrow.num_rows, arrow.column, named=named)

    @classmethod
    def lazy(
        cls,
        names: Sequence[str],
        rows: int,
        load: Callable[[int], Any],
        *,
        scan: Scan | None = None,
        named: bool = True,
    ) -> Table:
        """A table whose columns are loaded, by number, whenever they are asked for.

        So a large one need not be in memory, or not twice, to be encoded column by column. With
        `scan`, it need not even hold one of its columns to be read in `pieces`.
        """
        table = cls.__new__(cls)
        checked = checked_names("the table", names)
        table._set(checked, range(len(checked)), rows, load, scan=scan, named=named)
        return table

    def with_decimals(self, decimals: DecimalContext) -> Table:
        """The same, as read from separated text, with what that shows of its decimal mark."""
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
        named: bool,
        decimals: DecimalContext | None = None,
        origin: Table | None = None,
        is_separated: bool = False,
    ) -> None:
        self.named = named
        """False if the names were made up, and columns are matched by position instead."""
        self._number = dict(zip(names, numbers, strict=True))
        self._rows = rows
        self._load = load
        self._scan = scan
        self._decimals = decimals  # None: not known yet
        self._origin = origin  # the table of all columns and rows, which may show them
        self._is_separated = is_separated

    def _with(self, names: Sequence[str], numbers: Iterable[int], **changes: Any) -> Table:
        table = Table.__new__(Table)
        kept: dict[str, Any] = {
            "rows": self._rows,
            "load": self._load,
            "scan": self._scan,
            "named": self.named,
            "decimals": self._decimals,
            "origin": self._origin or self,
            "is_separated": self._is_separated,
        }
        table._set(names, numbers, **(kept | changes))
        return table

    @classmethod
    def of(cls, data: Any) -> Table:
        """The table that `data` holds."""
        origin = type(data).__module__.split(".")[0]
        if isinstance(data, Table):
            return data
        if isinstance(data, pa.Table):
            return cls(data)
        if isinstance(data, np.ndarray):
            return cls._of_array(data)
        if origin == "pandas":
            return cls(sources.from_pandas(data))
        if origin == "scipy":
            raise TabNASError(
                "a table must be dense, got a sparse matrix; densify it with .toarray()"
            )
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return cls(sources.from_arrow(data))
        if isinstance(data, Mapping):
            return cls(sources.from_mapping(data))
        if isinstance(data, Sequence) and not isinstance(data, str | bytes):
            return cls(sources.from_rows(data), named=False)
        if hasattr(data, "__array__"):  # tensors, and whoever speaks NumPy
            return cls.of(np.asarray(data))
        raise TabNASError(
            "a table must be a pandas or polars frame, a pyarrow table, a mapping of columns or a "
            f"two-dimensional array, got {type(data).__name__}"
        )

    @classmethod
    def _of_array(cls, array: np.ndarray) -> Table:
        if array.ndim == 2 and array.dtype.kind in "biuf":
            names = [f"x{i}" for i in range(array.shape[1])]
            return cls.lazy(
                names,
                len(array),
                lambda i: sources.to_arrow(names[i], array[:, i]),
                named=False,
            )
        return cls(sources.from_array(array), named=array.dtype.names is not None)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._number)

    @property
    def arrow(self) -> pa.Table:
        """All columns, loaded."""
        columns = [sources.as_chunks(self._load(number)) for number in self._number.values()]
        return pa.Table.from_arrays(columns, names=self.names)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __contains__(self, name: str) -> bool:
        return name.strip() in self._number

    def known(self, name: str) -> str:
        """The name as the table has it; one that it has not is refused, with the nearest."""
        if name not in self:
            raise TabNASError(
                f"there is no column {name!r}; {did_you_mean(name, self.names)}{self._nameless()}"
            )
        return name.strip()

    def _nameless(self) -> str:
        """A hint for tables whose first row has been taken for names."""
        values = any(re.fullmatch(r"-?\d*\.\d+", name) for name in self.names)
        hint = "; these look like values: the first line must hold the names of the columns"
        return hint if values else ""

    def column(self, name: str, rows: IntArray | None = None) -> pa.ChunkedArray:
        """One column, or some rows of it by number, in any order; nothing else is copied."""
        column = sources.ordinary(sources.as_chunks(self._load(self._number[self.known(name)])))
        return column if rows is None else _taken(name, column, rows)

    @property
    def decimals(self) -> DecimalContext:
        """What the file or frame that the table is of shows of its decimal mark."""
        if self._decimals is None:
            found = self._find_decimals() if self._origin is None else self._origin.decimals
            self._decimals = found
        return self._decimals

    def decimals_for(self, column: pa.ChunkedArray) -> DecimalContext:
        """The same, where it matters to a column: to texts, and to all columns of such files."""
        return self.decimals if self._is_separated or is_text(column) else ANYWHERE

    def _find_decimals(self) -> DecimalContext:
        found = DecimalMarks()
        for name in self:
            column = self.column(name)
            if is_text(column) and not pa.types.is_dictionary(column.type):
                found.add(name, texts(column))
        return DecimalContext(found.mark)

    @property
    def text_columns(self) -> list[str]:
        """The columns that a file like this one must be read as it writes them.

        These are texts and, where decimals have a comma, numbers: 1.234 may be one thousand there.
        """
        columns = {name: self.column(name) for name in self}
        commas = self._is_separated and self.decimals.mark == ","
        return [n for n, c in columns.items() if is_text(c) or (commas and is_quantity(c.type))]

    def drop(self, names: Sequence[str]) -> Table:
        """The table without some columns."""
        gone = {self.known(name) for name in names}
        kept = {name: number for name, number in self._number.items() if name not in gone}
        return self._with(list(kept), kept.values())

    def select(self, names: Sequence[str]) -> Table:
        """Some of the columns, in that order."""
        kept = {known: self._number[known] for known in map(self.known, names)}
        return self._with(list(kept), kept.values())

    def renamed(self, names: Sequence[str], *, named: bool) -> Table:
        """The same columns under other names."""
        return self._with(list(names), self._number.values(), named=named)

    def take(self, rows: IntArray) -> Table:
        """Some of the rows, by number: of each column when it is asked for."""
        names = {number: name for name, number in self._number.items()}

        def load(number: int) -> pa.ChunkedArray:
            return self.column(names[number], rows)

        return self._with(self.names, self._number.values(), rows=len(rows), load=load, scan=None)

    def pieces(self, rows: int) -> Iterator[Table]:
        """Yield tables of `rows` rows one after the other, the last of what is left.

        Of a large file, only the piece at hand and the one after it are in memory.
        """
        for part in self._parts(rows):
            piece = Table(part.rename_columns(self.names), named=self.named)
            known = {"decimals": self._decimals, "is_separated": self._is_separated}
            origin = self._origin or self
            yield piece._with(piece.names, range(len(piece.names)), origin=origin, **known)

    def _parts(self, rows: int) -> Iterator[pa.Table]:
        if self._scan is not None:
            return read_ahead(self._scan(list(self._number.values()), rows))
        arrow = self.arrow
        return (arrow.slice(start, rows) for start in range(0, len(self), rows))


def settle_decimals(table: Table, decimal: str | None) -> Table:
    """The table with a decimal mark that a user has told, if any."""
    return table if decimal is None else table.with_decimals(DecimalContext(decimal))


def read_ahead(pieces: Iterator[T]) -> Iterator[T]:
    """Yield the same pieces, each made in another thread while the one before is worked on."""
    with ThreadPoolExecutor(1, thread_name_prefix="tabnas-pieces") as pool:
        coming = pool.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = pool.submit(next, pieces, None)
            yield piece


def _taken(name: str, column: pa.ChunkedArray, rows: IntArray) -> pa.ChunkedArray:
    try:
        return column.take(pa.array(rows, pa.int64()))
    except pa.ArrowNotImplementedError:  # such a type is no feature, either
        refuse_unfit(name, column)
        raise


def checked_names(what: str, names: Sequence[str]) -> list[str]:
    """The names without spaces around them; each must be there, and there once."""
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
