"""Samples merge to the sample of all rows, in any order and any pieces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tabnas.stores._sketches import Sample, Sampler

keys = st.lists(st.integers(0, 30), max_size=40)


def sample_of(keys: list[int], first: int, max_rows: int, chunk: int = 100) -> Sample:
    sampler = Sampler(max_rows)
    sampler.add(np.empty(0, np.uint64), np.empty(0, np.int64), pa.table({"v": pa.array([], "i8")}))
    for begin in range(0, len(keys), chunk):
        part = np.array(keys[begin : begin + chunk], np.uint64)
        wanted = sampler.select(part)
        rows = first + begin + wanted
        sampler.add(part[wanted], rows, pa.table({"v": pa.array(rows * 10, "i8")}))
    return sampler.sample()


def content(sample: Sample) -> list[tuple[int, ...]]:
    values = sample.values.column("v").to_pylist()
    return list(zip(sample.keys.tolist(), sample.rows.tolist(), values, strict=True))


@given(keys, st.integers(1, 20), st.integers(1, 50))
def test_the_smallest_keys_are_kept(given_keys: list[int], max_rows: int, chunk: int) -> None:
    sample = sample_of(given_keys, 0, max_rows, chunk)
    expected = sorted(zip(given_keys, range(len(given_keys)), strict=True))[:max_rows]
    by_row = sorted(((key, row, 10 * row) for key, row in expected), key=lambda one: one[1])
    assert content(sample) == by_row


@given(keys, keys, keys, st.integers(1, 20))
def test_merging_is_associative(a: list[int], b: list[int], c: list[int], max_rows: int) -> None:
    first, second, third = (
        sample_of(a, 0, max_rows),
        sample_of(b, 100, max_rows),
        sample_of(c, 200, max_rows),
    )
    left = first.merge(second).merge(third)
    right = first.merge(second.merge(third))
    assert content(left) == content(right) == content(third.merge(first).merge(second))
