"""Statistics of the target merge to those of all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data import ClassTarget, NumberTarget
from tabnas.data.lowlevel import RowError
from tabnas.stores._target_stats import MAX_CLASSES, LabelStats, TargetStats, cast_labels

values = st.lists(st.floats(-1e6, 1e6), max_size=30).map(np.array)


@given(values, values, values)
def test_moments_merge_to_those_of_all_rows(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    first, second, third = map(TargetStats.from_values, (a, b, c))
    all_values = np.concatenate([a, b, c]).astype(float)
    for merged in (first.merge(second).merge(third), first.merge(second.merge(third))):
        assert merged.count == len(all_values)
        if not len(all_values) or np.ptp(all_values) < 1:
            continue
        fitted = NumberTarget.fit("y", pa.chunked_array([all_values]))
        assert merged.fit("y").center == pytest.approx(fitted.center, rel=1e-9, abs=1e-6)
        assert merged.fit("y").scale == pytest.approx(fitted.scale, rel=1e-9)


def test_unusable_targets_are_refused() -> None:
    with pytest.raises(TabNASError, match="two different values, but it has one"):
        TargetStats.from_values(np.array([3.0, 3.0])).fit("y")
    with pytest.raises(TabNASError, match="two different values, but it has none"):
        TargetStats().fit("y")
    huge = TargetStats.from_values(np.array([1e308, -1e308])).merge(
        TargetStats.from_values(np.array([1e308]))
    )
    with pytest.raises(TabNASError, match="a deviation that floats can hold"):
        huge.fit("y")
    labels = LabelStats.from_columns(pa.chunked_array([["a", "b"]]), pa.chunked_array([["a"]]))
    with pytest.raises(TabNASError, match="the training rows must show at least two"):
        labels.fit("y")
    many = pa.chunked_array([np.arange(MAX_CLASSES + 1)])
    with pytest.raises(TabNASError, match="'y' must have at most 10,000 classes"):
        LabelStats.from_columns(many, many).check_count("y")


@given(st.lists(st.sampled_from(["owl", " owl", "auk", "emu ", None]), min_size=2, max_size=20))
def test_labels_merge_to_those_of_all_rows(given_labels: list[str | None]) -> None:
    column = pa.chunked_array([pa.array(given_labels, pa.string())])
    half = len(given_labels) // 2
    parts = [
        LabelStats.from_columns(part, part) for part in (column.slice(0, half), column.slice(half))
    ]
    merged = parts[0].merge(parts[1])
    try:
        expected = ClassTarget.fit("y", column)
    except TabNASError:
        with pytest.raises(TabNASError):
            merged.fit("y")
    else:
        assert merged.fit("y") == expected


def test_labels_keep_the_type_of_the_first_rows() -> None:
    texts = pa.chunked_array([["1", " 0", None, "1"]])
    assert cast_labels("y", texts, pa.int64()).to_pylist() == [1, 0, None, 1]
    truths = pa.chunked_array([["true", "False", None]])
    assert cast_labels("y", truths, pa.bool_()).to_pylist() == [True, False, None]
    with pytest.raises(RowError, match=r"'y' must hold int64, .* but row 2 is '1\.5'"):
        cast_labels("y", pa.chunked_array([["1", "1.5"]]), pa.int64())
