"""The encoder: a table to arrays, fitted on training rows and applied to any others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tabnas.data._kinds import Kind, identifier_note, looks_like_identifier, meaning_of
from tabnas.data._state import Check, checked, damaged, distinct_texts, flag, listed
from tabnas.data._table import Table
from tabnas.data._values import is_text, rename_rows
from tabnas.data.columns import (
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    EncodedColumn,
    Float32Array,
    HashedColumn,
    Int32Array,
    NumericColumn,
    Scaling,
    column_from_dict,
)
from tabnas.errors import TabNASError, did_you_mean
from tabnas.types import IntArray

FORMAT = 2
RECODED = 1 << 16  # rows whose codes are changed at a time


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
    constant: tuple[str, ...]  # columns that say nothing
    ignored: tuple[str, ...]  # columns that were not wanted
    names: tuple[str, ...]  # of all columns of the training table, in order
    named: bool
    notes: tuple[str, ...] = ()  # what people should know of the training table; not saved

    @classmethod
    def fit(
        cls,
        table: Table,
        *,
        rows: IntArray | None = None,
        drop: Sequence[str] = (),
        kinds: Mapping[str, Kind | str] | None = None,
        scaling: Scaling = "robust",
        min_count: int = 2,
        max_categories: int = 10_000,
    ) -> TableEncoder:
        """Find what to do from training rows: all, or those of the numbers `rows`.

        The columns `drop` are left out; `kinds` overrides what is found for a column.
        """
        forced = {table.known(name): _as_kind(name, kind) for name, kind in (kinds or {}).items()}
        ignored = {table.known(name) for name in drop}
        given = len(table) if rows is None else len(rows)
        if given < 2:
            raise TabNASError(f"learning takes at least two rows, got {given}")
        columns: list[EncodedColumn] = []
        constant = []
        notes: list[str] = []
        for name in table:
            if name in ignored:
                continue
            column = table.column(name, rows)
            with rename_rows(rows):
                meaning = meaning_of(name, column, table.decimals_for(column), forced.get(name))
                kind = meaning.kind
                notes += meaning.notes
                if name not in forced and looks_like_identifier(column, kind):
                    notes.append(identifier_note(name))
                if kind is Kind.CONSTANT:
                    constant.append(name)
                elif kind is Kind.NUMERIC:
                    columns.append(
                        NumericColumn.fit(name, column, scaling=scaling, form=meaning.form)
                    )
                elif kind is Kind.BOOLEAN:
                    columns.append(BooleanColumn.fit(name, column))
                elif kind is Kind.DATETIME:
                    columns.append(DatetimeColumn.fit(name, column))
                elif kind is Kind.HASHED:
                    columns.append(HashedColumn.fit(name, column))
                else:
                    fitted = CategoricalColumn.fit(name, column, min_count=min_count)
                    columns.append(fitted.limited(max_categories))
        if not columns:
            raise TabNASError(
                "at least one column must differ between rows, but all are constant or "
                "dropped; give columns that tell rows apart"
            )
        for note in notes:
            warnings.warn(note, DataWarning, stacklevel=2)
        left_out = tuple(name for name in table if name in ignored)
        found = tuple(columns), tuple(constant), left_out, tuple(table), table.named
        return cls(*found, notes=tuple(notes))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that nothing is made of, in order."""
        gone = {*self.constant, *self.ignored}
        return tuple(name for name in self.names if name in gone)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numeric features, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def categories(self) -> tuple[int, ...]:
        """The number of categories of each categorical column, in order."""
        return tuple(column.categories for column in self.columns if column.categories)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that `read_table` should read as they are written: 007 is not 7.

        So categories do not depend on what other rows of a file hold, and 1.234 is left to those
        columns whose training table had commas for decimal points.
        """
        return tuple(
            column.name
            for column in self.columns
            if isinstance(column, CategoricalColumn | HashedColumn)
            or (isinstance(column, NumericColumn) and column.decimal != ".")
        )

    def limited(self, max_categories: int) -> TableEncoder:
        """The encoder with at most so many categories a column, as if it had been fitted so."""
        return replace(self, columns=tuple(c.limited(max_categories) for c in self.columns))

    def recode(self, categorical: Int32Array, max_categories: int) -> None:
        """Turn codes of this encoder into those that `limited` has, in place.

        So rows that are encoded already need not be read once more. Rows of zeros stay unwritten,
        and a few others are worked on at a time, for there may be as many as memory holds.
        """
        coded = [column for column in self.columns if column.categories]
        for begin in range(0, len(categorical), RECODED):
            for number, column in enumerate(coded):
                column.recode(categorical[begin : begin + RECODED, number], max_categories)

    def encode(self, table: Table, rows: IntArray | None = None) -> Encoded:
        """Rows of another table with the same columns, in any order, among others.

        Takes all rows or those of the numbers `rows`, and copies one column at a time.
        """
        table = self.matched(table)
        length = len(table) if rows is None else len(rows)
        numeric = np.empty((length, len(self.features)), np.float32)
        categorical = np.empty((length, len(self.categories)), np.int32)
        at_numeric, at_category = 0, 0
        nothing = np.empty(0, np.int32)
        for column in self.columns:
            width = len(column.features)
            codes = categorical[:, at_category] if column.categories else nothing
            here = numeric[:, at_numeric : at_numeric + width]
            values = table.column(column.name, rows)
            with rename_rows(rows):
                self.written_in(table, column, values).encode(values, here, codes)
            at_numeric += width
            at_category += bool(column.categories)
        return Encoded(numeric, categorical)

    @staticmethod
    def written_in(table: Table, column: EncodedColumn, values: Any) -> EncodedColumn:
        """The column as it reads numbers of a table that come as texts: by the table's mark."""
        if isinstance(column, NumericColumn) and is_text(values) and table.decimals.mark:
            return replace(column, decimal=table.decimals.mark)
        return column

    def matched(self, table: Table) -> Table:
        """The table with the training table's names: by name, or by position if it has none."""
        if not (table.named and self.named):
            if len(table.names) != len(self.names):
                raise TabNASError(
                    f"the table must have the {len(self.names)} columns of the training table, "
                    f"got {len(table.names)}"
                )
            return table.renamed(self.names, named=self.named)
        missing = [column.name for column in self.columns if column.name not in table]
        if missing:
            others = f", as are {len(missing) - 1} others" if len(missing) > 1 else ""
            raise TabNASError(
                f"the table must have the column {missing[0]!r}, as the training table had, "
                f"but it is missing{others}; {did_you_mean(missing[0], table.names)}"
            )
        return table

    def describe(self) -> dict[str, str]:
        """What is done to each column, for people."""
        said = {column.name: f"{column.kind}: {column.describe()}" for column in self.columns}
        said |= dict.fromkeys(self.constant, "constant: dropped")
        said |= dict.fromkeys(self.ignored, "dropped, as asked for")
        return {name: said[name] for name in self.names}

    def to_dict(self) -> dict[str, Any]:
        """The whole encoder, fit for JSON."""
        return {
            "format": FORMAT,
            "columns": [column.to_dict() for column in self.columns],
            "constant": list(self.constant),
            "ignored": list(self.ignored),
            "names": list(self.names),
            "named": self.named,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> TableEncoder:
        """The inverse of `to_dict`; what is malformed is refused."""
        if isinstance(state, Mapping) and state.get("format", FORMAT) != FORMAT:
            raise TabNASError(
                f"the encoder must have format {FORMAT}, but it has {state['format']!r}; "
                f"{_other_version(state['format'])}"
            )
        fields = checked("the encoder", state, CHECKS)
        del fields["format"]
        encoder = cls(**fields)
        parts = [column.name for column in encoder.columns] + list(encoder.dropped)
        if not encoder.columns or sorted(parts) != sorted(encoder.names):
            raise damaged("'names' of the encoder", "those of its columns", encoder.names)
        return encoder


def _other_version(version: Any) -> str:
    older = isinstance(version, int) and version < FORMAT
    return (
        "an older tabnas has written it; search again"
        if older
        else ("a newer tabnas may have written it")
    )


CHECKS = {
    "format": Check("a version", int),
    "columns": Check("a list of columns", lambda v: tuple(map(column_from_dict, listed(v)))),
    "constant": distinct_texts,
    "ignored": distinct_texts,
    "names": distinct_texts,
    "named": flag,
}


def _as_kind(name: str, kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise TabNASError(
            f"the column {name!r} cannot be {kind!r}; {did_you_mean(str(kind), map(str, Kind))}"
        ) from None
