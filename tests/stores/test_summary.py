"""Summaries of pieces of a column merge to the summary of all rows, in any order."""

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


def summarize(kind: Kind | None, values: list[str | None]) -> ColumnSummary:
    observer = make_accumulator("c", kind, capacity=1 << 20)
    for begin in range(0, len(values), 3):
        observer.update(pa.chunked_array([pa.array(values[begin : begin + 3], pa.string())]))
    return observer.summary()


def read_summary(summary: ColumnSummary) -> tuple[object, ...]:
    counts = None
    if summary.counts is not None:
        counts = sorted(map(tuple, (row.values() for row in summary.counts.table.to_pylist())))
    return summary.missing, summary.low, summary.high, counts


@given(st.data())
def test_merging_is_associative(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(cells)))
    parts = [data.draw(st.lists(cells[kind], max_size=8)) for _ in range(3)]
    first, second, third = (summarize(kind, part) for part in parts)
    all_rows = summarize(kind, [value for part in parts for value in part])
    for merged in (first.merge(second).merge(third), first.merge(second.merge(third))):
        assert read_summary(merged) == read_summary(all_rows)
        assert merged.is_constant() == all_rows.is_constant()
    present = {v for part in parts for v in part if v not in (None, "?")}
    if kind in (Kind.BOOLEAN, Kind.DATETIME, None):
        has_missing = any(v is None for part in parts for v in part)
        assert all_rows.is_constant() == (not present or (len(present) == 1 and not has_missing))
