"""Rows made up to try a file on: every category, what is missing or unseen, and extremes."""

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
    EncodedColumn,
    HashedColumn,
    NumericColumn,
)
from tabnas.streams import stream

FEWEST = 64  # rows of ordinary values
MAX_ODD_ROWS = 1_024
"""In tables of many columns, several odd values share a row: nobody waits for 40,000 rows."""
DEVIATIONS = (-3.0, -1.0, -0.5, -0.1, 0.0, 0.2, 0.7, 1.5, 4.0)
ODD_NUMBERS = (None, 0.0, 1e300, -1e300, 2.0**53 + 1, -5e-324, 1.7e308, 1e20)
ODD_MOMENTS = (None, 0, -1, 2**62, -(2**62), 951_782_399, 68_169_600)


@dataclass(frozen=True)
class _Probe:
    type: pa.DataType
    ordinary: Sequence[Any]
    odd: Sequence[Any]


def probe_rows(encoder: TableEncoder) -> Table:
    """Return rows of ordinary values with every category among them, then rows with odd values.

    Every odd value of every column is there: one in a row, or where there are more of them than
    `MAX_ODD_ROWS`, several of the same kind, of neighbouring columns, in a row.
    """
    rng = stream(0, "export")
    probes = [_probe(column) for column in encoder.columns]
    ordinary = max(FEWEST, *(len(probe.ordinary) for probe in probes))
    # by kind first: a row of extremes that no model can answer takes no other kind away with it
    pairs = sorted((kind, c) for c, probe in enumerate(probes) for kind in range(len(probe.odd)))
    odd = min(len(pairs), MAX_ODD_ROWS)
    odd_values: list[dict[int, Any]] = [{} for _ in probes]
    for number, (kind, c) in enumerate(pairs):
        odd_values[c][ordinary + number * odd // len(pairs)] = probes[c].odd[kind]
    columns: dict[str, pa.Array] = {}
    for column, probe, changes in zip(encoder.columns, probes, odd_values, strict=True):
        # each value once, or more often, in an order of its own
        chosen = rng.permutation(np.arange(ordinary) % len(probe.ordinary))
        chosen = np.concatenate([chosen, rng.integers(len(probe.ordinary), size=odd)])
        values = [probe.ordinary[i] for i in chosen]
        for row, value in changes.items():
            values[row] = value
        columns[column.name] = pa.array(values, probe.type)
    nothing = pa.nulls(ordinary + odd, pa.float64())
    everything = {name: columns.get(name, nothing) for name in encoder.names}
    return Table(pa.table(everything), named=encoder.named)


def _probe(column: EncodedColumn) -> _Probe:
    if isinstance(column, NumericColumn):
        values = [column.center + column.scale * d for d in DEVIATIONS]
        finite = [value for value in values if np.isfinite(value)]
        return _Probe(pa.float64(), [*finite, column.fill], ODD_NUMBERS)
    if isinstance(column, BooleanColumn):
        return _Probe(pa.bool_(), [False, True], [None])
    if isinstance(column, DatetimeColumn):
        days = [column.center + column.scale * d for d in DEVIATIONS]
        seconds = [round(day * DAY) for day in days if abs(day) < 1e9]
        return _Probe(pa.timestamp("s"), seconds or [0], ODD_MOMENTS)
    if isinstance(column, HashedColumn):
        return _Probe(pa.string(), [f"text {i}" for i in range(FEWEST)], [None, "?"])
    assert isinstance(column, CategoricalColumn)
    unseen = "unseen"
    while unseen in column.vocabulary:
        unseen += "!"
    return _Probe(pa.string(), [*column.vocabulary, unseen], [None, "?", unseen])
