"""Summaries of columns merge, in any order, to that of all rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tabnas.data import Kind
from tabnas.stores._summary import ColumnSummary, make_accumulator

cells = {
    Kind.NUMERIC: st.sampled_from(["1", "2.5", "1.0", "?", None]),
    Kind.BOOLEAN: st.sampled_from(["true", "false", None]),
    Kind.DATETIME: st.sampled_from(["2024-01-01", "2024-05-01 10:00", None]),
    Kind.HASHED: st.sampled_from(["a", " a", "b", None]),
    Kind.CATEGORICAL: st.sampled_from(["a", " a", "b", None]),
    None: st.sampled_from(["0", "x", None]),
}


def summary_of(kind: Kind | None, values: list[str | None]) -> ColumnSummary:
    observer = make_accumulator("c", kind, capacity=1 << 20)
    for begin in range(0, len(values), 3):
        observer.update(pa.chunked_array([pa.array(values[begin : begin + 3], pa.string())]))
    return observer.summary()


def content(summary: ColumnSummary) -> tuple[object, ...]:
    counted = None
    if summary.counts is not None:
        counted = sorted(map(tuple, (row.values() for row in summary.counts.table.to_pylist())))
    return summary.missing, summary.low, summary.high, counted


@given(st.data())
def test_merging_is_associative(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(cells)))
    parts = [data.draw(st.lists(cells[kind], max_size=8)) for _ in range(3)]
    first, second, third = (summary_of(kind, part) for part in parts)
    whole = summary_of(kind, [value for part in parts for value in part])
    for merged in (first.merge(second).merge(third), first.merge(second.merge(third))):
        assert content(merged) == content(whole)
        assert merged.is_constant() == whole.is_constant()
    present = {v for part in parts for v in part if v not in (None, "?")}
    if kind in (Kind.BOOLEAN, Kind.DATETIME, None):
        gone = any(v is None for part in parts for v in part)
        assert whole.is_constant() == (not present or (len(present) == 1 and not gone))
