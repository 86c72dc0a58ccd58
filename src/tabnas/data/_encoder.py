"""The encoder: a table to arrays, fitted on training rows and applied to any others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabnas.data._kinds import Kind, find_kind, looks_like_identifier
from tabnas.data._table import Table
from tabnas.data.columns import (
    COLUMNS,
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    EncodedColumn,
    Float32Array,
    Int32Array,
    NumericColumn,
    Scaling,
)
from tabnas.errors import TabnasError, did_you_mean

FORMAT = 1


class DataWarning(UserWarning):
    """Something about the table that a person should look at."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows as a network takes them."""

    numeric: Float32Array  # [rows, numeric features]
    categorical: Int32Array  # [rows, categorical columns]

    def __len__(self) -> int:
        return len(self.numeric)

    def take(self, rows: np.ndarray) -> Encoded:
        """Some of the rows, by number."""
        return Encoded(self.numeric[rows], self.categorical[rows])


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """What to do to every column of a table.

    >>> table = Table.of({"age": [31, None, 44], "city": ["Bern", "Basel", "Bern"]})
    >>> encoder = TableEncoder.fit(table, min_count=1)
    >>> encoder.features, encoder.categories
    (('age', 'age is missing'), (3,))
    >>> encoder.encode(Table.of({"city": ["Zug"], "age": [37.5]})).categorical.tolist()
    [[0]]
    """

    columns: tuple[EncodedColumn, ...]
    dropped: tuple[str, ...]
    names: tuple[str, ...]  # of all columns of the training table, in order
    named: bool

    @classmethod
    def fit(
        cls,
        table: Table,
        *,
        kinds: Mapping[str, Kind | str] | None = None,
        scaling: Scaling = "robust",
        min_count: int = 2,
        max_categories: int = 10_000,
    ) -> TableEncoder:
        """Find what to do from training rows; `kinds` overrides what is found for a column."""
        forced = {name: _as_kind(name, kind) for name, kind in (kinds or {}).items()}
        for name in forced:
            table.column(name)  # refuses unknown names, with the nearest known
        columns: list[EncodedColumn] = []
        dropped = []
        for name in table:
            column = table.column(name)
            kind = forced.get(name) or find_kind(name, column)
            if name not in forced and looks_like_identifier(column, kind):
                warnings.warn(
                    f"the column {name!r} looks like an identifier: nearly every row has its own "
                    "value; drop it if it means nothing",
                    DataWarning,
                    stacklevel=2,
                )
            if kind is Kind.CONSTANT:
                dropped.append(name)
            elif kind is Kind.NUMERIC:
                columns.append(NumericColumn.fit(name, column, scaling=scaling))
            elif kind is Kind.BOOLEAN:
                columns.append(BooleanColumn(name=name))
            elif kind is Kind.DATETIME:
                columns.append(DatetimeColumn.fit(name, column))
            else:
                columns.append(
                    CategoricalColumn.fit(
                        name, column, min_count=min_count, max_categories=max_categories
                    )
                )
        if not columns:
            raise TabnasError(
                "every column of the table is constant: there is nothing to learn from"
            )
        return cls(tuple(columns), tuple(dropped), tuple(table.names), table.named)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numeric features, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def categories(self) -> tuple[int, ...]:
        """The number of categories of each categorical column, in order."""
        return tuple(column.categories for column in self.columns if column.categories)

    def encode(self, table: Table) -> Encoded:
        """Rows of another table with the same columns, in any order, among others."""
        table = self._matched(table)
        numeric = np.empty((len(table), len(self.features)), np.float32)
        categorical = np.empty((len(table), len(self.categories)), np.int32)
        at_numeric, at_category = 0, 0
        nothing = np.empty(0, np.int32)
        for column in self.columns:
            width = len(column.features)
            codes = categorical[:, at_category] if column.categories else nothing
            here = numeric[:, at_numeric : at_numeric + width]
            column.encode(table.column(column.name), here, codes)
            at_numeric += width
            at_category += bool(column.categories)
        return Encoded(numeric, categorical)

    def _matched(self, table: Table) -> Table:
        """The table with the training table's names: by name, or by position if it has none."""
        if not (table.named and self.named):
            if len(table.names) != len(self.names):
                raise TabnasError(
                    f"the table must have the {len(self.names)} columns of the training table, "
                    f"however {len(table.names)} were given"
                )
            return Table(table.arrow.rename_columns(list(self.names)), named=self.named)
        for column in self.columns:
            if column.name not in table.arrow.column_names:
                raise TabnasError(
                    f"the table must have the column {column.name!r}, as the training table had; "
                    f"{did_you_mean(column.name, table.names)}"
                )
        return table

    def describe(self) -> dict[str, str]:
        """What is done to each column, for people."""
        said = {column.name: f"{column.kind}: {column.describe()}" for column in self.columns}
        said |= dict.fromkeys(self.dropped, "constant: dropped")
        return {name: said[name] for name in self.names}

    def to_dict(self) -> dict[str, Any]:
        """The whole encoder, fit for JSON."""
        return {
            "format": FORMAT,
            "columns": [{"kind": str(c.kind), **c.to_dict()} for c in self.columns],
            "dropped": list(self.dropped),
            "names": list(self.names),
            "named": self.named,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> TableEncoder:
        """The inverse of `to_dict`."""
        if state.get("format") != FORMAT:
            raise TabnasError(
                f"the encoder must have format {FORMAT}, however it has {state.get('format')!r}; "
                "a newer tabnas may have written it"
            )
        columns = []
        for entry in state["columns"]:
            fields = {key: _frozen(value) for key, value in entry.items() if key != "kind"}
            columns.append(COLUMNS[entry["kind"]](**fields))
        return cls(tuple(columns), tuple(state["dropped"]), tuple(state["names"]), state["named"])


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _as_kind(name: str, kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise TabnasError(
            f"the column {name!r} cannot be {kind!r}; {did_you_mean(str(kind), map(str, Kind))}"
        ) from None
