"""Fit the encoder and the target on the summary of the first pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tabnas.data import Kind, TableEncoder, Target, to_booleans, to_numbers, to_seconds
from tabnas.data.columns import (
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    FittedColumn,
    HashedColumn,
    NumericColumn,
)
from tabnas.data.lowlevel import ColumnSchema, NumberFormat, RowError, infer_text_schema
from tabnas.errors import TabNASError
from tabnas.stores._layout import Layout
from tabnas.stores._settings import StoreSettings
from tabnas.stores._summary import ColumnSummary, Summary
from tabnas.stores._target_stats import LabelStats

TRUTHS = {"true", "True", "TRUE", "false", "False", "FALSE"}
"""Texts that `read_table` reads as booleans."""
VALUES: dict[Kind, Callable[[str, Any, NumberFormat], NDArray[Any]]] = {
    Kind.NUMERIC: to_numbers,
    Kind.BOOLEAN: lambda name, column, number_format: to_booleans(name, column),
    Kind.DATETIME: lambda name, column, number_format: to_seconds(name, column)[0],
}


def fit_encoder(
    layout: Layout, summary: Summary, settings: StoreSettings
) -> tuple[TableEncoder, Target]:
    """Fit what `TableEncoder.fit` and `fit_target` would fit on the training rows.

    Results are the same bits, except for the mean and deviation of a quantity, as long as the
    sample holds all training rows and no counts were pruned. Beyond that, scales are those of the
    sample.
    """
    _check_row_counts(summary)
    columns, constant = [], []
    for name, kind in layout.kinds.items():
        known = summary.columns[name]
        if name not in layout.declared and (
            known.is_constant() or (kind is None and _has_one_value(name, known, layout))
        ):
            constant.append(name)
        else:
            columns.append(_fit_column(name, kind, known, summary, layout, settings))
    if not columns:
        raise TabNASError(
            "at least one column must differ between rows, but all are constant or dropped; "
            "give columns that tell rows apart"
        )
    if isinstance(summary.target, LabelStats):  # of all pieces together
        summary.target.check_count(layout.target)
        if layout.has_integer_classes:
            summary.target.check_task(layout.target)
    names = layout.names
    encoder = TableEncoder(tuple(columns), tuple(constant), layout.ignored, names, has_names=True)
    return encoder, summary.target.fit(layout.target, layout.number_formats[layout.target])


def _fit_column(
    name: str,
    kind: Kind | None,
    known: ColumnSummary,
    summary: Summary,
    layout: Layout,
    settings: StoreSettings,
) -> FittedColumn:
    sampled = summary.sample.values
    values: Any = sampled.column(name) if name in sampled.column_names else None
    missing = known.missing > 0
    number_format = layout.number_formats[name]
    if kind is None:
        decided = _infer_counted_texts(name, known, layout)
        kind, number_format = decided.kind, decided.number_format
    if kind is Kind.NUMERIC:
        numeric = NumericColumn.fit(
            name, values, scaling=settings.scaling, number_format=number_format
        )
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


def _infer_counted_texts(name: str, known: ColumnSummary, layout: Layout) -> ColumnSchema:
    """Infer the kind of texts that were all the same in the first rows, but not later.

    Rare values may not be in the sample, so the counted texts are used.
    """
    assert known.counts is not None
    texts, counts = (known.counts.table.column(n).combine_chunks() for n in ("value", "count"))
    if set(texts.slice(0, 1 + len(TRUTHS)).to_pylist()) <= TRUTHS:
        return ColumnSchema(Kind.BOOLEAN)
    try:
        return infer_text_schema(name, texts, counts.to_numpy(), layout.decimals, rows=texts)
    except RowError as error:
        raise TabNASError(f"{error.before} a later row {error.after}") from None


def _has_one_value(name: str, known: ColumnSummary, layout: Layout) -> bool:
    """Return whether different texts have one value, such as 1 and 1.0, and none is missing."""
    assert known.counts is not None
    decided = _infer_counted_texts(name, known, layout)
    read = VALUES.get(decided.kind)
    if read is None or known.missing or not known.counts.is_exact:
        return False
    try:
        values = read(name, known.counts.table.column("value"), decided.number_format)
    except RowError as error:
        raise TabNASError(f"{error.before} a later row {error.after}") from None
    return bool(values.min() == values.max())


def _check_row_counts(summary: Summary) -> None:
    train, validation, _ = summary.parts
    if train < 2 or validation < 1:
        raise TabNASError(
            "a store must have rows for training and for validation, but it has "
            f"{train} and {validation}; give more rows with a target"
        )
