"""Synthetic rows to check a file on: every category, missing and unseen values, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tabnas.data import Table, TableEncoder
from tabnas.data.columns import (
    DAY,
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    FittedColumn,
    HashedColumn,
    NumericColumn,
)
from tabnas.streams import stream

MIN_ROWS = 64  # of ordinary values
MAX_ODD_ROWS = 1_024
"""In tables of many columns, several odd values share a row, which saves time."""
DEVIATIONS = (-3.0, -1.0, -0.5, -0.1, 0.0, 0.2, 0.7, 1.5, 4.0)
ODD_NUMBERS = (None, 0.0, 1e300, -1e300, 2.0**53 + 1, -5e-324, 1.7e308, 1e20)
ODD_TIMESTAMPS = (None, 0, -1, 2**62, -(2**62), 951_782_399, 68_169_600)


@dataclass(frozen=True)
class _Probe:
    type: pa.DataType
    ordinary: Sequence[Any]
    odd: Sequence[Any]


def make_probe_rows(encoder: TableEncoder) -> Table:
    """Return rows of ordinary values, including every category, then rows with odd values.

    Every odd value of every column occurs: one in a row, or if there are more than `MAX_ODD_ROWS`,
    several of the same kind in a row, from neighbouring columns.
    """
    rng = stream(0, "export")
    probes = [_probe(column) for column in encoder.columns]
    ordinary = max(MIN_ROWS, *(len(probe.ordinary) for probe in probes))
    # by kind first: a row of extremes that no model can predict then holds no other kind
    pairs = sorted((kind, c) for c, probe in enumerate(probes) for kind in range(len(probe.odd)))
    odd = min(len(pairs), MAX_ODD_ROWS)
    odd_values: list[dict[int, Any]] = [{} for _ in probes]
    for number, (kind, c) in enumerate(pairs):
        odd_values[c][ordinary + number * odd // len(pairs)] = probes[c].odd[kind]
    columns: dict[str, pa.Array] = {}
    for column, probe, changes in zip(encoder.columns, probes, odd_values, strict=True):
        # each value at least once, in random order
        indices = rng.permutation(np.arange(ordinary) % len(probe.ordinary))
        indices = np.concatenate([indices, rng.integers(len(probe.ordinary), size=odd)])
        values = [probe.ordinary[i] for i in indices]
        for row, value in changes.items():
            values[row] = value
        columns[column.name] = pa.array(values, probe.type)
    ignored = pa.nulls(ordinary + odd, pa.float64())
    return Table(
        pa.table({name: columns.get(name, ignored) for name in encoder.names}),
        has_names=encoder.has_names,
    )


def _probe(column: FittedColumn) -> _Probe:
    if isinstance(column, NumericColumn):
        values = [column.center + column.scale * d for d in DEVIATIONS]
        finite = [value for value in values if np.isfinite(value)]
        return _Probe(pa.float64(), [*finite, column.fill], ODD_NUMBERS)
    if isinstance(column, BooleanColumn):
        return _Probe(pa.bool_(), [False, True], [None])
    if isinstance(column, DatetimeColumn):
        days = [column.center + column.scale * d for d in DEVIATIONS]
        seconds = [round(day * DAY) for day in days if abs(day) < 1e9]
        return _Probe(pa.timestamp("s"), seconds or [0], ODD_TIMESTAMPS)
    if isinstance(column, HashedColumn):
        return _Probe(pa.string(), [f"text {i}" for i in range(MIN_ROWS)], [None, "?"])
    assert isinstance(column, CategoricalColumn)
    unseen = "unseen"
    while unseen in column.vocabulary:
        unseen += "!"
    return _Probe(pa.string(), [*column.vocabulary, unseen], [None, "?", unseen])
