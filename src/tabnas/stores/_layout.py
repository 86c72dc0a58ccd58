"""The layout of a table, from its first rows: kinds of columns, target, how rows are read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tabnas.data import DataWarning, Kind, find_labelled_rows, to_texts
from tabnas.data.lowlevel import (
    DEFAULT_NUMBER_FORMAT,
    ColumnSchema,
    DecimalContext,
    NumberFormat,
    are_number_like,
    describe_identifier,
    find_na_values,
    fit_number_format,
    holds_classes,
    infer_schema,
    is_datetime_type,
    is_numeric_type,
    is_text,
    looks_like_identifier,
)
from tabnas.errors import TabNASError
from tabnas.stores._first_rows import READERS, FirstRows
from tabnas.stores._readers import FeatherReader, Reader
from tabnas.stores._settings import StoreSettings
from tabnas.stores._text_copies import TextColumns

KINDS_BY_TYPE = ((pa.types.is_boolean, Kind.BOOLEAN), (is_datetime_type, Kind.DATETIME))


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What is done with every column, as far as the first rows show."""

    names: tuple[str, ...]  # of all columns but the target, in order
    kinds: Mapping[str, Kind | None]  # of those in use; None: texts of which too little was seen
    declared: tuple[str, ...]  # columns whose kind the user has declared
    ignored: tuple[str, ...]
    target: str
    labels: pa.DataType | None  # the type of the target's classes; None: a quantity
    has_integer_classes: bool  # classes since the first rows have few different integers
    na_values: tuple[str, ...]  # texts that mean that a target is missing
    reader: Reader
    text_columns: TextColumns | None  # of text files, which are copied before they are read
    decimals: DecimalContext
    number_formats: Mapping[
        str, NumberFormat
    ]  # of numbers that come as texts, those of the target included
    notes: tuple[str, ...]  # what people should know of the columns

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the layout, for JSON."""
        return {
            "names": list(self.names),
            "kinds": {
                name: None if kind is None else str(kind) for name, kind in self.kinds.items()
            },
            "target": self.target,
            "labels": None if self.labels is None else str(self.labels),
            "number_formats": {
                name: [form.decimal, form.unit] for name, form in self.number_formats.items()
            },
        }


def find_layout(first_rows: FirstRows, settings: StoreSettings) -> Layout:
    """Infer kinds and target from the first rows, by the rules for a table in memory."""
    table = first_rows.table
    target = table.resolve_name(settings.target)
    declared = {table.resolve_name(name): Kind(kind) for name, kind in settings.kinds.items()}
    ignored = {table.resolve_name(name) for name in settings.drop}
    names = tuple(name for name in table if name != target)
    schemas: dict[str, ColumnSchema] = {}
    with first_rows.locate_errors():
        for name in names:
            if name not in ignored:
                column = table.column(name)
                decimals = table.decimals_for(column)
                schemas[name] = infer_schema(name, column, decimals, declared.get(name))
    kinds = {name: _find_kind(first_rows, name, schema.kind) for name, schema in schemas.items()}
    labels, number_format, target_notes = _infer_target(first_rows, target, settings)
    if not kinds:
        raise TabNASError("at least one column must be a feature, but all are dropped; drop fewer")
    number_formats = {name: schema.number_format for name, schema in schemas.items()} | {
        target: number_format
    }
    types = {
        name: _find_type(kind, table.column(name).type, number_formats[name])
        for name, kind in kinds.items()
    }
    target_column = table.column(target)
    types[target] = (
        _find_type(Kind.NUMERIC, target_column.type, number_format) if labels is None else labels
    )
    text_columns = _find_text_columns(types, number_formats) if first_rows.is_text else None
    notes = [note for schema in schemas.values() for note in schema.notes]
    notes += [
        describe_identifier(name)
        for name, kind in kinds.items()
        if name not in declared
        and kind is not None
        and looks_like_identifier(table.column(name), kind)
    ]
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return Layout(
        names=names,
        kinds=kinds,
        declared=tuple(declared),
        ignored=tuple(name for name in names if name in ignored),
        target=target,
        labels=labels,
        has_integer_classes=labels is not None
        and settings.task is None
        and _holds_numbers(target_column),
        na_values=find_na_values(target_column),
        reader=_find_reader(first_rows, tuple(types), settings.memory_plan.chunk),
        text_columns=text_columns,
        decimals=table.decimals,
        number_formats=number_formats,
        notes=(*notes, *target_notes),
    )


def _find_kind(first_rows: FirstRows, name: str, kind: Kind) -> Kind | None:
    """Return the kind of a column; None if it is the same in all rows so far."""
    column = first_rows.table.column(name)
    if kind is not Kind.CONSTANT:
        return kind
    if first_rows.is_text or is_text(column) or pa.types.is_null(column.type):
        return None
    kinds = (kind for is_type, kind in KINDS_BY_TYPE if is_type(column.type))
    return next(kinds, Kind.NUMERIC)


def _infer_target(
    first_rows: FirstRows, name: str, settings: StoreSettings
) -> tuple[pa.DataType | None, NumberFormat, tuple[str, ...]]:
    """Return the type of classes, or None for a quantity; the number format; notes."""
    column = first_rows.table.column(name)
    decimals = first_rows.table.decimals_for(column)
    present = find_labelled_rows(column)
    with first_rows.locate_errors():
        if not len(present):
            raise TabNASError(
                f"the target {name!r} must have values, but all of the first "
                f"{len(column):,} rows are missing; name another column"
            )
        classes = settings.task == "classification" or (
            settings.task is None and holds_classes(name, column, decimals)
        )
        if not classes:
            return None, *fit_number_format(name, column, decimals)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pa.string() if is_text(column) else kind, decimals.number_format(name), ()


def _holds_numbers(column: Any) -> bool:
    """Return whether a column holds numbers, or texts that are all numbers."""
    if pa.types.is_dictionary(column.type):  # declared categorical where it was written
        return False
    if is_text(column):
        return bool(are_number_like(to_texts(column).unique()).all())
    return is_numeric_type(column.type)


def _find_type(
    kind: Kind | None, inferred: pa.DataType, number_format: NumberFormat
) -> pa.DataType:
    """Return the type to read a CSV column as, given the type that Arrow inferred."""
    if (
        kind is Kind.NUMERIC and number_format.decimal != DEFAULT_NUMBER_FORMAT.decimal
    ):  # Arrow knows no other
        return pa.string()
    if kind is Kind.NUMERIC and (pa.types.is_integer(inferred) or pa.types.is_null(inferred)):
        return pa.float64()
    if kind in (Kind.NUMERIC, Kind.BOOLEAN, Kind.DATETIME):
        return inferred
    return pa.string()


def _find_text_columns(
    types: Mapping[str, pa.DataType], number_formats: Mapping[str, NumberFormat]
) -> TextColumns:
    """Return the columns of text files that are needed, and their types."""
    # Arrow does not read labels with decimal commas as numbers
    as_text = {
        name
        for name, kind in types.items()
        if pa.types.is_floating(kind)
        and number_formats[name].decimal != DEFAULT_NUMBER_FORMAT.decimal
    }
    return TextColumns(types={n: pa.string() if n in as_text else t for n, t in types.items()})


def _find_reader(first_rows: FirstRows, needed: tuple[str, ...], size: int) -> Reader:
    """Return a reader of the columns that are needed."""
    if first_rows.is_text:
        return FeatherReader(names=needed, size=size)
    only = tuple(name for name in first_rows.names if name.strip() in needed)
    return READERS[first_rows.sources[0].ending](names=first_rows.names, size=size, only=only)
