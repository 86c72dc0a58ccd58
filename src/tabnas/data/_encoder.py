"""The encoder of tables as arrays, fitted on training rows and applied to any others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabnas.data._kinds import (
    ColumnSchema,
    Kind,
    describe_identifier,
    infer_schema,
    looks_like_identifier,
)
from tabnas.data._table import Table
from tabnas.data._values import is_text, renumber_rows
from tabnas.data.columns import (
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    DistinctTexts,
    FittedColumn,
    HashedColumn,
    NumericColumn,
    column_from_dict,
)
from tabnas.decoding import DecodeError, DecodeWith, decode
from tabnas.errors import TabNASError, did_you_mean
from tabnas.types import Float32Array, Int32Array, IntArray, Scaling

FORMAT = 2
RECODE_ROWS = 1 << 16  # rows whose codes are changed at a time


class DataWarning(UserWarning):
    """Something about the table that the user should look at."""


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The features of a table, as the input of a network."""

    numeric: Float32Array  # [rows, numeric features]
    categorical: Int32Array  # [rows, categorical columns]

    def __len__(self) -> int:
        return len(self.numeric)

    def take(self, rows: IntArray | slice) -> EncodedTable:
        """Return the rows with these numbers; a slice shares memory."""
        return EncodedTable(self.numeric[rows], self.categorical[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[EncodedTable]) -> EncodedTable:
        """Return the rows of all parts, one after the other."""
        return cls(
            np.concatenate([part.numeric for part in parts]),
            np.concatenate([part.categorical for part in parts]),
        )


class LabelledArrays(NamedTuple):
    """Encoded rows, and the true values of the target."""

    encoded: EncodedTable
    y: NDArray[Any]  # class numbers (int32), or values in their own units (float64)


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """Encodes every column of a table.

    >>> table = Table.from_data({"age": [31, None, 44], "city": ["Bern", "Basel", "Bern"]})
    >>> encoder = TableEncoder.fit(table, min_count=1)
    >>> encoder.features, encoder.n_categories
    (('age', 'age is missing'), (3,))
    >>> encoder.encode(Table.from_data({"city": ["Zug"], "age": [37.5]})).categorical.tolist()
    [[0]]
    """

    columns: tuple[FittedColumn, ...]
    constant: tuple[str, ...]  # columns that are the same in all rows
    dropped: tuple[str, ...]  # columns that the user has dropped
    names: tuple[str, ...]  # of all columns of the training table, in order
    has_names: bool  # False if the names were made up; then columns are matched by position
    notes: tuple[str, ...] = ()  # about the training table, for the user; not saved

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
        """Fit an encoder on training rows: all, or those with the numbers `rows`.

        The columns `drop` are left out; `kinds` overrides the kind that is inferred for a column.
        """
        forced = {
            table.resolve_name(name): _as_kind(name, kind) for name, kind in (kinds or {}).items()
        }
        dropped = {table.resolve_name(name) for name in drop}
        n_rows = len(table) if rows is None else len(rows)
        if n_rows < 2:
            raise TabNASError(f"learning takes at least two rows, got {n_rows}")

        def fit_column(name: str, column: Any) -> tuple[FittedColumn | None, list[str]]:
            with renumber_rows(rows):
                schema = infer_schema(name, column, table.decimals_for(column), forced.get(name))
                notes = list(schema.notes)
                if name not in forced and looks_like_identifier(column, schema.kind):
                    notes.append(describe_identifier(name))
                fitted = _fit_column(name, column, schema, scaling=scaling, min_count=min_count)
            if isinstance(fitted, CategoricalColumn):
                fitted = fitted.with_max_categories(max_categories)
            return fitted, notes

        names = [name for name in table if name not in dropped]
        fitted = dict(zip(names, table.map_columns(fit_column, names, rows), strict=True))
        columns = [column for column, _ in fitted.values() if column is not None]
        constant = [name for name, (column, _) in fitted.items() if column is None]
        notes = [note for _, column_notes in fitted.values() for note in column_notes]
        if not columns:
            raise TabNASError(
                "at least one column must differ between rows, but all are constant or "
                "dropped; give columns that tell rows apart"
            )
        for note in notes:
            warnings.warn(note, DataWarning, stacklevel=2)
        return cls(
            tuple(columns),
            tuple(constant),
            tuple(name for name in table if name in dropped),
            tuple(table),
            table.has_names,
            notes=tuple(notes),
        )

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are not encoded, since they are constant or dropped, in order."""
        unused = {*self.constant, *self.dropped}
        return tuple(name for name in self.names if name in unused)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numeric features, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def n_categories(self) -> tuple[int, ...]:
        """The number of categories of each categorical column, in order."""
        return tuple(column.n_categories for column in self.columns if column.n_categories)

    @cached_property
    def _number_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if isinstance(c, NumericColumn))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that `read_table` should read as text, not as numbers.

        Categories, since 007 would become 7 in a file whose other values are numbers, too; and
        numbers with decimal commas in the training table, since 1.234 would become a fraction.
        """
        return tuple(
            column.name
            for column in self.columns
            if isinstance(column, CategoricalColumn | HashedColumn)
            or (isinstance(column, NumericColumn) and column.decimal != ".")
        )

    def with_max_categories(self, max_categories: int) -> TableEncoder:
        """Return the encoder with at most that many categories per column, as if fitted so."""
        return replace(
            self, columns=tuple(c.with_max_categories(max_categories) for c in self.columns)
        )

    def recode(self, categorical: Int32Array, max_categories: int) -> None:
        """Turn codes of this encoder into those that `with_max_categories` has, in place.

        Rows that are encoded already need not be read again. Only codes that change are written,
        a few rows at a time, since all of them may fill the memory.
        """
        coded = [column for column in self.columns if column.n_categories]
        for begin in range(0, len(categorical), RECODE_ROWS):
            for number, column in enumerate(coded):
                column.recode(categorical[begin : begin + RECODE_ROWS, number], max_categories)

    def encode(self, table: Table, rows: IntArray | None = None) -> EncodedTable:
        """Encode the rows of a table that has the training table's columns, in any order.

        Takes all rows or those with the numbers `rows`, and copies a few columns at a time.
        """
        table = self.match_columns(table)
        length = len(table) if rows is None else len(rows)
        numeric = np.empty((length, len(self.features)), np.float32)
        categorical = np.empty((length, len(self.n_categories)), np.int32)
        widths = np.array([[len(c.features), bool(c.n_categories)] for c in self.columns])
        ends = dict(
            zip((c.name for c in self.columns), widths.cumsum(axis=0).tolist(), strict=True)
        )
        by_name = {column.name: column for column in self.columns}
        nothing = np.empty(0, np.int32)

        def encode_column(name: str, values: Any) -> None:
            column, (at_numeric, at_category) = by_name[name], ends[name]
            codes = categorical[:, at_category - 1] if column.n_categories else nothing
            here = numeric[:, at_numeric - len(column.features) : at_numeric]
            with renumber_rows(rows):
                self.with_table_decimal(table, column, values).encode(values, here, codes)

        table.map_columns(encode_column, by_name, rows)
        return EncodedTable(numeric, categorical)

    def with_table_decimal(self, table: Table, column: FittedColumn, values: Any) -> FittedColumn:
        """Return the column with the decimal mark of a table, if its numbers are texts there."""
        if isinstance(column, NumericColumn) and is_text(values):
            mark = table.decimals.mark_for(column.name, self._number_names)
            return replace(column, decimal=mark or column.decimal)
        return column

    def match_columns(self, table: Table) -> Table:
        """Return the table with the training table's names, matched by name or by position."""
        if not (table.has_names and self.has_names):
            used = tuple(name for name in self.names if name not in self.dropped)
            for names in (self.names, used):
                if len(table.names) == len(names):
                    return table.rename(names, has_names=self.has_names)
            raise TabNASError(
                f"the table must have the {len(self.names)} columns of the training table, "
                f"got {len(table.names)}"
            )
        missing = [column.name for column in self.columns if column.name not in table]
        if missing:
            others = f", as are {len(missing) - 1} others" if len(missing) > 1 else ""
            raise TabNASError(
                f"the table must have the column {missing[0]!r}, as the training table had, "
                f"but it is missing{others}; {did_you_mean(missing[0], table.names)}"
            )
        return table

    def describe(self) -> dict[str, str]:
        """Describe what is done to each column."""
        texts = {column.name: f"{column.kind}: {column.describe()}" for column in self.columns}
        texts |= dict.fromkeys(self.constant, "constant: dropped")
        texts |= dict.fromkeys(self.dropped, "dropped, as asked for")
        return {name: texts[name] for name in self.names}

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder, for JSON."""
        return {
            "format": FORMAT,
            "columns": [column.to_dict() for column in self.columns],
            "constant": list(self.constant),
            "ignored": list(self.dropped),
            "names": list(self.names),
            "named": self.has_names,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> TableEncoder:
        """Return the encoder of a state that `to_dict` gave; raise an error if it is malformed."""
        if isinstance(state, Mapping) and state.get("format", FORMAT) != FORMAT:
            older = isinstance(state["format"], int) and state["format"] < FORMAT
            raise TabNASError(
                f"the encoder must have format {FORMAT}, but it has {state['format']!r}; "
                + (
                    "an older tabnas has written it; search again"
                    if older
                    else "a newer tabnas may have written it"
                )
            )
        saved = decode(_EncoderState, state, source="the encoder")
        encoder = cls(saved.columns, saved.constant, saved.ignored, saved.names, saved.named)
        parts = [column.name for column in encoder.columns] + list(encoder.unused)
        if not encoder.columns or sorted(parts) != sorted(encoder.names):
            raise DecodeError("the encoder: names must be those of its columns")
        return encoder


@dataclass(frozen=True, kw_only=True)
class _EncoderState:
    """What a file holds of an encoder."""

    format: int
    columns: tuple[Annotated[FittedColumn, DecodeWith(column_from_dict)], ...]
    constant: DistinctTexts
    ignored: DistinctTexts
    names: DistinctTexts
    named: bool


def _fit_column(
    name: str, column: Any, schema: ColumnSchema, *, scaling: Scaling, min_count: int
) -> FittedColumn | None:
    """Fit the encoder of a column; None if all its rows are the same."""
    match schema.kind:
        case Kind.CONSTANT:
            return None
        case Kind.NUMERIC:
            number_format = schema.number_format
            return NumericColumn.fit(name, column, scaling=scaling, number_format=number_format)
        case Kind.BOOLEAN:
            return BooleanColumn.fit(name, column)
        case Kind.DATETIME:
            return DatetimeColumn.fit(name, column)
        case Kind.HASHED:
            return HashedColumn.fit(name, column)
    return CategoricalColumn.fit(name, column, min_count=min_count)


def _as_kind(name: str, kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise TabNASError(
            f"the column {name!r} cannot be {kind!r}; {did_you_mean(str(kind), map(str, Kind))}"
        ) from None
