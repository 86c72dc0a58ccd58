"""A table of named columns, whatever it came from, on Arrow's memory layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.errors import TabnasError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa


class Table:
    """Columns of equal length, in order, by name.

    `Table.of` takes all that holds one: pandas and polars frames, pyarrow tables, mappings of
    columns, and two-dimensional arrays, whose columns are called x0, x1, and so on.

    >>> table = Table.of({"age": [31, 44], "city": ["Bern", None]})
    >>> table.names, len(table)
    (['age', 'city'], 2)
    """

    def __init__(self, arrow: pa.Table, *, named: bool = True) -> None:
        duplicate = next((n for n in arrow.column_names if arrow.column_names.count(n) > 1), None)
        if duplicate is not None:
            raise TabnasError(f"the table has several columns called {duplicate!r}; rename them")
        self.arrow = arrow
        self.named = named
        """False if the names were made up, and columns are matched by position instead."""

    @classmethod
    def of(cls, data: Any) -> Table:
        """The table that `data` holds."""
        import pyarrow as pa

        if isinstance(data, Table):
            return data
        if isinstance(data, pa.Table):
            return cls(data)
        if isinstance(data, np.ndarray) or hasattr(data, "__array_interface__"):
            return cls._from_array(np.asarray(data))
        if type(data).__module__.split(".")[0] == "pandas":
            return cls._from_pandas(data)
        if hasattr(data, "__arrow_c_stream__"):  # polars, and whoever speaks Arrow
            return cls(pa.table(data))
        if isinstance(data, dict):
            return cls(pa.table({str(name): _to_arrow(str(name), v) for name, v in data.items()}))
        if isinstance(data, Sequence) and not isinstance(data, str | bytes):
            return cls._from_array(np.asarray(data))
        raise TabnasError(
            "a table must be a pandas or polars frame, a pyarrow table, a mapping of columns or a "
            f"two-dimensional array, however {type(data).__name__} was given"
        )

    @classmethod
    def _from_array(cls, array: np.ndarray) -> Table:
        import pyarrow as pa

        if array.ndim != 2:
            raise TabnasError(
                f"a table must have two dimensions, however the shape {array.shape} was given"
            )
        columns = {f"x{i}": _to_arrow(f"x{i}", array[:, i]) for i in range(array.shape[1])}
        return cls(pa.table(columns), named=False)

    @classmethod
    def _from_pandas(cls, frame: Any) -> Table:
        import pyarrow as pa

        if frame.ndim != 2:
            raise TabnasError("a table must be a frame, however a series was given")
        names = [str(name) for name in frame.columns]
        columns = [_to_arrow(name, frame.iloc[:, i]) for i, name in enumerate(names)]
        return cls(pa.Table.from_arrays(columns, names=names))

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.arrow.column_names)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, as it came."""
        if name not in self.arrow.column_names:
            raise TabnasError(f"there is no column {name!r}; {did_you_mean(name, self.names)}")
        return self.arrow.column(name)

    def drop(self, names: Sequence[str]) -> Table:
        """The table without some columns."""
        for name in names:
            self.column(name)
        return Table(self.arrow.drop_columns(list(names)), named=self.named)

    def take(self, rows: np.ndarray) -> Table:
        """Some of the rows, by number."""
        return Table(self.arrow.take(rows), named=self.named)


def _to_arrow(name: str, values: Any) -> Any:
    """One column; values of mixed types become text, as they would be written."""
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        pass
    except OverflowError:
        raise TabnasError(f"the column {name!r} holds an integer beyond 64 bits") from None
    return pa.array([None if _is_missing(v) else str(v) for v in values], pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value)) or str(value) == "<NA>"
