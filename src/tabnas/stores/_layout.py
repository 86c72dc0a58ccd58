"""What the first rows tell: what each column is, what the target is, how all rows are read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tabnas.data import DataWarning, Kind, rows_with_target
from tabnas.data.reading import (
    POINT,
    DecimalContext,
    Meaning,
    NumberFormat,
    fit_number_format,
    holds_classes,
    identifier_note,
    is_moment,
    is_text,
    looks_like_identifier,
    meaning_of,
    target_marks,
)
from tabnas.errors import TabNASError
from tabnas.stores._chunks import Reader
from tabnas.stores._head import Head
from tabnas.stores._settings import StoreSettings
from tabnas.stores._text import TextReader

KINDS_BY_TYPE = ((pa.types.is_boolean, Kind.BOOLEAN), (is_moment, Kind.DATETIME))


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What is done with every column, as far as the first rows tell."""

    names: tuple[str, ...]  # of all columns but the target, in order
    kinds: Mapping[str, Kind | None]  # of those in use; None: texts of which too little was seen
    declared: tuple[str, ...]  # columns whose kind a user has told
    ignored: tuple[str, ...]
    target: str
    labels: pa.DataType | None  # the type of the target's classes; None: a quantity
    marks: tuple[str, ...]  # texts that mean that a target is missing
    reader: Reader
    decimals: DecimalContext
    forms: Mapping[str, NumberFormat]  # of numbers that come as texts, those of the target included
    notes: tuple[str, ...]  # what people should know of the columns

    def to_dict(self) -> dict[str, Any]:
        """What identifies it, fit for JSON."""
        return {
            "names": list(self.names),
            "kinds": {
                name: None if kind is None else str(kind) for name, kind in self.kinds.items()
            },
            "target": self.target,
            "labels": None if self.labels is None else str(self.labels),
            "forms": {name: [form.decimal, form.unit] for name, form in self.forms.items()},
        }


def find_layout(head: Head, settings: StoreSettings) -> Layout:
    """Kinds and target by the same rules as for a table in memory, from its first rows."""
    table = head.table
    target = table.known(settings.target)
    declared = {table.known(name): Kind(kind) for name, kind in settings.kinds.items()}
    ignored = {table.known(name) for name in settings.drop}
    names = tuple(name for name in table if name != target)
    meanings: dict[str, Meaning] = {}
    with head.rows_named():
        for name in names:
            if name not in ignored:
                column = table.column(name)
                decimals = table.decimals_for(column)
                meanings[name] = meaning_of(name, column, decimals, declared.get(name))
    kinds = {name: _kind(head, name, meaning.kind) for name, meaning in meanings.items()}
    labels, form, target_notes = _labels(head, target, settings)
    if not kinds:
        raise TabNASError("at least one column must be a feature, but all are dropped; drop fewer")
    forms = {name: meaning.form for name, meaning in meanings.items()} | {target: form}
    types = {
        name: _read_as(kind, table.column(name).type, forms[name]) for name, kind in kinds.items()
    }
    found = table.column(target)
    types[target] = _read_as(Kind.NUMERIC, found.type, form) if labels is None else labels
    notes = [note for meaning in meanings.values() for note in meaning.notes]
    notes += [
        identifier_note(name)
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
        marks=target_marks(found),
        reader=_reader(head, types, forms, settings.sizes.chunk),
        decimals=table.decimals,
        forms=forms,
        notes=(*notes, *target_notes),
    )


def _kind(head: Head, name: str, kind: Kind) -> Kind | None:
    """The kind of a column; None where it is the same in all rows so far."""
    column = head.table.column(name)
    if kind is not Kind.CONSTANT:
        return kind
    if head.form is not None or is_text(column) or pa.types.is_null(column.type):
        return None
    found = (kind for is_type, kind in KINDS_BY_TYPE if is_type(column.type))
    return next(found, Kind.NUMERIC)


def _labels(
    head: Head, name: str, settings: StoreSettings
) -> tuple[pa.DataType | None, NumberFormat, tuple[str, ...]]:
    """The type of classes, or None if the target is a quantity; how it is written; notes."""
    column = head.table.column(name)
    decimals = head.table.decimals_for(column)
    present = rows_with_target(column)
    with head.rows_named():
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
    return pa.string() if is_text(column) else kind, decimals.form_of(name), ()


def _read_as(kind: Kind | None, found: pa.DataType, form: NumberFormat) -> pa.DataType:
    """How a separated file's column is read, given what Arrow found in the first rows."""
    if kind is Kind.NUMERIC and form.decimal != POINT.decimal:  # Arrow knows no other
        return pa.string()
    if kind is Kind.NUMERIC and (pa.types.is_integer(found) or pa.types.is_null(found)):
        return pa.float64()
    if kind in (Kind.NUMERIC, Kind.BOOLEAN, Kind.DATETIME):
        return found
    return pa.string()


def _reader(
    head: Head, types: Mapping[str, pa.DataType], forms: Mapping[str, NumberFormat], size: int
) -> Reader:
    """Reads the columns that types are given for."""
    reader = head.reader
    if not isinstance(reader, TextReader):
        only = tuple(name for name in reader.names if name.strip() in types)
        return replace(reader, size=size, only=only)
    kept = {  # labels with decimal commas are texts until they are read
        name: kind
        for name, kind in types.items()
        if kind != pa.string()
        and not (pa.types.is_floating(kind) and forms[name].decimal != POINT.decimal)
    }
    return replace(reader, size=size, only=tuple(types), types=kept)
