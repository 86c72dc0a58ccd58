"""Counts and samples in bounded memory, which merge in any order."""

from __future__ import annotations

from collections import Counter as PythonCounter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tabnas.stores._sketches import ENTRY, Counter, Counts, Sample, Sampler

texts = st.lists(st.sampled_from("abcdefghijklmnopqrst"), max_size=60)
LARGE_CAPACITY = 1 << 20


def count_texts(values: list[str], capacity: int, chunk: int = 7) -> Counts:
    counter = Counter(capacity)
    for begin in range(0, len(values), chunk):
        part = PythonCounter(values[begin : begin + chunk])
        counter.add(pa.array(list(part), pa.string()), np.array(list(part.values()), np.int64))
    return counter.counts()


def read_counts(counts: Counts) -> dict[str, int]:
    table = counts.table
    return dict(zip(table["value"].to_pylist(), table["count"].to_pylist(), strict=True))


@given(texts, texts, texts)
def test_merging_counts_is_associative_and_exact(a: list[str], b: list[str], c: list[str]) -> None:
    first, second, third = (count_texts(values, LARGE_CAPACITY) for values in (a, b, c))
    left, right = first.merge(second).merge(third), first.merge(second.merge(third))
    assert read_counts(left) == read_counts(right) == PythonCounter(a + b + c)
    assert left.is_exact
    assert right.is_exact


@given(texts, texts, st.integers(1, 12), st.integers(1, 9))
def test_the_error_of_counts_is_bounded(
    a: list[str], b: list[str], max_entries: int, chunk: int
) -> None:
    capacity = max_entries * (ENTRY + 1)
    merged = count_texts(a, capacity, chunk).merge(count_texts(b, capacity, chunk))
    counts, truth = read_counts(merged), PythonCounter(a + b)
    assert len(counts) <= max_entries
    for text, count in truth.items():
        assert counts.get(text, 0) <= count <= counts.get(text, 0) + merged.bound
    assert merged.bound <= len(a + b)
    if merged.is_exact:
        assert counts == truth


def test_the_bytes_of_pending_counts_are_bounded() -> None:
    counter = Counter(capacity=100_000)
    for k in range(30):
        counter.add(pa.array([f"{k}-{i}-" + "u" * 1_000 for i in range(10)]), np.ones(10, np.int64))
        assert sum(table.nbytes for table in counter._pending) < 50_000
    assert read_counts(counter.counts())


def test_frequent_texts_are_kept() -> None:
    rng = np.random.default_rng(0)
    values = [f"rare {i}" for i in rng.integers(0, 10**6, 5_000)] + ["often", "usual"] * 300
    sketch = count_texts([str(v) for v in rng.permutation(values)], 2_000, chunk=100)
    assert not sketch.is_exact
    counts = read_counts(sketch)
    assert counts["often"] + sketch.bound >= 300
    assert set(sorted(counts, key=counts.get)[-2:]) == {"often", "usual"}


# -- samples ------------------------------------------------------------------------------------

keys = st.lists(st.integers(0, 30), max_size=40)


def make_sample(keys: list[int], first: int, max_rows: int, chunk: int = 100) -> Sample:
    sampler = Sampler(max_rows)
    sampler.add(np.empty(0, np.uint64), np.empty(0, np.int64), pa.table({"v": pa.array([], "i8")}))
    for begin in range(0, len(keys), chunk):
        part = np.array(keys[begin : begin + chunk], np.uint64)
        selected = sampler.select(part)
        rows = first + begin + selected
        sampler.add(part[selected], rows, pa.table({"v": pa.array(rows * 10, "i8")}))
    return sampler.sample()


def read_rows(sample: Sample) -> list[tuple[int, ...]]:
    values = sample.values.column("v").to_pylist()
    return list(zip(sample.keys.tolist(), sample.rows.tolist(), values, strict=True))


@given(keys, st.integers(1, 20), st.integers(1, 50))
def test_the_smallest_keys_are_kept(given_keys: list[int], max_rows: int, chunk: int) -> None:
    sample = make_sample(given_keys, 0, max_rows, chunk)
    expected = sorted(zip(given_keys, range(len(given_keys)), strict=True))[:max_rows]
    by_row = sorted(((key, row, 10 * row) for key, row in expected), key=lambda one: one[1])
    assert read_rows(sample) == by_row


@given(keys, keys, keys, st.integers(1, 20))
def test_merging_samples_is_associative(
    a: list[int], b: list[int], c: list[int], max_rows: int
) -> None:
    first, second, third = (
        make_sample(a, 0, max_rows),
        make_sample(b, 100, max_rows),
        make_sample(c, 200, max_rows),
    )
    left = first.merge(second).merge(third)
    right = first.merge(second.merge(third))
    assert read_rows(left) == read_rows(right) == read_rows(third.merge(first).merge(second))
