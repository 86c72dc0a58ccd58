"""Counts in bounded memory: exact while they fit, and within their bound beyond."""

from __future__ import annotations

from collections import Counter as PythonCounter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tabnas.stores._sketches import ENTRY, Counter, Counts

texts = st.lists(st.sampled_from("abcdefghijklmnopqrst"), max_size=60)
ROOMY = 1 << 20


def counts_of(values: list[str], capacity: int, chunk: int = 7) -> Counts:
    counter = Counter(capacity)
    for begin in range(0, len(values), chunk):
        part = PythonCounter(values[begin : begin + chunk])
        counter.add(pa.array(list(part), pa.string()), np.array(list(part.values()), np.int64))
    return counter.counts()


def content(counts: Counts) -> dict[str, int]:
    table = counts.table
    return dict(zip(table["value"].to_pylist(), table["count"].to_pylist(), strict=True))


@given(texts, texts, texts)
def test_merging_is_associative_and_exact(a: list[str], b: list[str], c: list[str]) -> None:
    first, second, third = (counts_of(values, ROOMY) for values in (a, b, c))
    left, right = first.merge(second).merge(third), first.merge(second.merge(third))
    assert content(left) == content(right) == PythonCounter(a + b + c)
    assert left.is_exact
    assert right.is_exact


@given(texts, texts, st.integers(1, 12), st.integers(1, 9))
def test_what_is_lost_is_bounded(a: list[str], b: list[str], room: int, chunk: int) -> None:
    capacity = room * (ENTRY + 1)
    merged = counts_of(a, capacity, chunk).merge(counts_of(b, capacity, chunk))
    kept, truth = content(merged), PythonCounter(a + b)
    assert len(kept) <= room
    for text, count in truth.items():
        assert kept.get(text, 0) <= count <= kept.get(text, 0) + merged.bound
    assert merged.bound <= len(a + b)
    if merged.is_exact:
        assert kept == truth


def test_what_waits_is_bounded_by_its_bytes() -> None:
    counter = Counter(capacity=100_000)
    for k in range(30):
        counter.add(pa.array([f"{k}-{i}-" + "u" * 1_000 for i in range(10)]), np.ones(10, np.int64))
        assert sum(table.nbytes for table in counter._pending) < 50_000
    assert content(counter.counts())


def test_frequent_texts_survive() -> None:
    rng = np.random.default_rng(0)
    values = [f"rare {i}" for i in rng.integers(0, 10**6, 5_000)] + ["often", "usual"] * 300
    counts = counts_of([str(v) for v in rng.permutation(values)], 2_000, chunk=100)
    assert not counts.is_exact
    kept = content(counts)
    assert kept["often"] + counts.bound >= 300
    assert set(sorted(kept, key=kept.get)[-2:]) == {"often", "usual"}
