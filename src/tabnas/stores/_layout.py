"""What the first rows tell: what each column is, what the target is, how all rows are read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tabnas.data import DataWarning, Kind, find_kind, rows_with_target
from tabnas.data.reading import holds_classes, is_moment, is_text, looks_like_identifier
from tabnas.errors import TabnasError
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
    texts: tuple[str, ...]  # columns that are read as texts
    target: str
    labels: pa.DataType | None  # the type of the target's classes; None: a quantity
    reader: Reader

    def to_dict(self) -> dict[str, Any]:
        """What identifies it, fit for JSON."""
        return {
            "names": list(self.names),
            "kinds": {
                name: None if kind is None else str(kind) for name, kind in self.kinds.items()
            },
            "target": self.target,
            "labels": None if self.labels is None else str(self.labels),
        }


def find_layout(head: Head, settings: StoreSettings) -> Layout:
    """Kinds and target by the same rules as for a table in memory, from its first rows."""
    table = head.table
    target = table.known(settings.target)
    declared = {table.known(name): Kind(kind) for name, kind in settings.kinds.items()}
    ignored = {table.known(name) for name in settings.drop}
    names = tuple(name for name in table if name != target)
    kinds: dict[str, Kind | None] = {}
    with head.rows_named():
        for name in names:
            if name in declared:
                kinds[name] = declared[name]
            elif name not in ignored:
                kinds[name] = _kind(head, name)
    labels = _labels(head, target, settings)
    if not kinds:
        raise TabnasError(
            "at least one column must be a feature, however all are dropped; drop fewer"
        )
    types = {name: _read_as(kind, table.column(name).type) for name, kind in kinds.items()}
    found = table.column(target).type
    types[target] = _read_as(Kind.NUMERIC, found) if labels is None else labels
    return Layout(
        names=names,
        kinds=kinds,
        declared=tuple(declared),
        ignored=tuple(name for name in names if name in ignored),
        texts=tuple(n for n in kinds if head.form is not None or is_text(table.column(n))),
        target=target,
        labels=labels,
        reader=_reader(head, types, settings.sizes.chunk),
    )


def _kind(head: Head, name: str) -> Kind | None:
    """The kind of a column; None where it is the same in all rows so far."""
    column = head.table.column(name)
    kind = find_kind(name, column)
    if kind is not Kind.CONSTANT:
        if looks_like_identifier(column, kind):
            warnings.warn(
                f"the column {name!r} looks like an identifier: nearly every row has its own "
                "value; drop it if it means nothing",
                DataWarning,
                stacklevel=2,
            )
        return kind
    if head.form is not None or is_text(column) or pa.types.is_null(column.type):
        return None
    found = (kind for is_type, kind in KINDS_BY_TYPE if is_type(column.type))
    return next(found, Kind.NUMERIC)


def _labels(head: Head, name: str, settings: StoreSettings) -> pa.DataType | None:
    """The type of classes, or None if the target is a quantity."""
    column = head.table.column(name)
    present = rows_with_target(column)
    with head.rows_named():
        if not len(present):
            raise TabnasError(
                f"the target {name!r} must have values, however all of the first "
                f"{len(column):,} rows are missing; name another column"
            )
        if settings.task == "regression":
            return None
        if settings.task is None and not holds_classes(name, column):
            return None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pa.string() if is_text(column) else kind


def _read_as(kind: Kind | None, found: pa.DataType) -> pa.DataType:
    """How a separated file's column is read, given what Arrow found in the first rows."""
    if kind is Kind.NUMERIC and (pa.types.is_integer(found) or pa.types.is_null(found)):
        return pa.float64()
    if kind in (Kind.NUMERIC, Kind.BOOLEAN, Kind.DATETIME):
        return found
    return pa.string()


def _reader(head: Head, types: Mapping[str, pa.DataType], size: int) -> Reader:
    """Reads the columns that types are given for."""
    reader = head.reader
    if not isinstance(reader, TextReader):
        only = tuple(name for name in reader.names if name.strip() in types)
        return replace(reader, size=size, only=only)
    decimals = tuple(name for name in head.decimals if types.get(name) == pa.float64())
    kept = {n: kind for n, kind in types.items() if kind != pa.string() and n not in decimals}
    return replace(reader, size=size, only=tuple(types), types=kept, decimals=decimals)
