"""From what the first pass has learned to the encoder and the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tabnas.data import Kind, TableEncoder, Target, numbers, seconds, truths
from tabnas.data.columns import (
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    EncodedColumn,
    HashedColumn,
    NumericColumn,
)
from tabnas.data.reading import Meaning, NumberFormat, RowError, meaning_of_texts
from tabnas.errors import TabNASError
from tabnas.stores._layout import Layout
from tabnas.stores._settings import StoreSettings
from tabnas.stores._summary import ColumnSummary, Summary

TRUTHS = {"true", "True", "TRUE", "false", "False", "FALSE"}
"""Texts that a reader of whole tables takes for truth values."""
VALUES: dict[Kind, Callable[[str, Any, NumberFormat], NDArray[Any]]] = {
    Kind.NUMERIC: numbers,
    Kind.BOOLEAN: lambda name, column, form: truths(name, column),
    Kind.DATETIME: lambda name, column, form: seconds(name, column)[0],
}


def fit(layout: Layout, summary: Summary, settings: StoreSettings) -> tuple[TableEncoder, Target]:
    """What `TableEncoder.fit` and the targets' own find from the training rows.

    The same to the bit, but for the mean and deviation of a quantity, as long as the sample is all
    training rows and no counts were pruned. Beyond that, scales are those of the sample.
    """
    _refuse_few(summary)
    columns, constant = [], []
    for name, kind in layout.kinds.items():
        known = summary.columns[name]
        if name not in layout.declared and (
            known.is_constant() or (kind is None and _is_written_variously(name, known, layout))
        ):
            constant.append(name)
        else:
            columns.append(_column(name, kind, known, summary, layout, settings))
    if not columns:
        raise TabNASError(
            "at least one column must differ between rows, but all are constant or dropped; "
            "give columns that tell rows apart"
        )
    names = layout.names
    encoder = TableEncoder(tuple(columns), tuple(constant), layout.ignored, names, named=True)
    return encoder, summary.answers.fit(layout.target, layout.forms[layout.target])


def _column(
    name: str,
    kind: Kind | None,
    known: ColumnSummary,
    summary: Summary,
    layout: Layout,
    settings: StoreSettings,
) -> EncodedColumn:
    sampled = summary.sample.values
    values: Any = sampled.column(name) if name in sampled.column_names else None
    missing = known.missing > 0
    form = layout.forms[name]
    if kind is None:
        decided = _decided(name, known, layout)
        kind, form = decided.kind, decided.form
    if kind is Kind.NUMERIC:
        numeric = NumericColumn.fit(name, values, scaling=settings.scaling, form=form)
        return replace(numeric, marks_missing=missing)
    if kind is Kind.BOOLEAN:
        return BooleanColumn(name=name)
    if kind is Kind.DATETIME:
        return replace(DatetimeColumn.fit(name, values), marks_missing=missing)
    if kind is Kind.HASHED:
        return HashedColumn(name=name, buckets=settings.buckets, has_missing=missing)
    assert known.counts is not None
    counted = known.counts.table
    return CategoricalColumn.from_counts(
        name,
        counted.column("value"),
        counted.column("count"),
        has_missing=missing,
        min_count=settings.min_count,
        max_categories=settings.max_categories,
    )


def _decided(name: str, known: ColumnSummary, layout: Layout) -> Meaning:
    """What texts mean that were all the same in the first rows, and are not later on.

    Rare values may not be in the sample, so the texts that were counted decide.
    """
    assert known.counts is not None
    found, counts = (known.counts.table.column(n).combine_chunks() for n in ("value", "count"))
    if set(found.slice(0, 1 + len(TRUTHS)).to_pylist()) <= TRUTHS:
        return Meaning(Kind.BOOLEAN)
    try:
        return meaning_of_texts(name, found, counts.to_numpy(), layout.decimals, rows=found)
    except RowError as error:
        raise TabNASError(f"{error.before} a later row {error.after}") from None


def _is_written_variously(name: str, known: ColumnSummary, layout: Layout) -> bool:
    """Whether texts that differ mean one and the same, such as 1 and 1.0, and none is missing."""
    assert known.counts is not None
    decided = _decided(name, known, layout)
    read = VALUES.get(decided.kind)
    if read is None or known.missing or not known.counts.exact:
        return False
    try:
        values = read(name, known.counts.table.column("value"), decided.form)
    except RowError as error:
        raise TabNASError(f"{error.before} a later row {error.after}") from None
    return bool(values.min() == values.max())


def _refuse_few(summary: Summary) -> None:
    train, validation, _ = summary.parts
    if train < 2 or validation < 1:
        raise TabNASError(
            "a store must have rows for training and for validation, but it has "
            f"{train} and {validation}; give more rows with a target"
        )
