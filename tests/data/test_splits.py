from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data import (
    Shares,
    Split,
    split_by_group,
    split_by_time,
    split_random,
    split_stratified,
)


def check_partition(split: Split, rows: int) -> None:
    all_rows = np.concatenate([split.train, split.validation, split.test])
    assert sorted(all_rows) == list(range(rows))


@st.composite
def shares(draw: st.DrawFn) -> Shares:
    """Draw shares that leave at least a twentieth for training."""
    validation = draw(st.floats(0.01, 0.9))
    return Shares(validation=validation, test=draw(st.floats(0.0, 0.95 - validation)))


@given(st.integers(0, 40), shares())
def test_every_part_has_a_row_of_a_class_of_three(count: int, requested: Shares) -> None:
    """A class of one row is for training, of two for training and validation."""
    labels = np.concatenate([np.zeros(50, np.int64), np.ones(count, np.int64)])
    split = split_stratified(labels, requested, np.random.default_rng(0))
    check_partition(split, len(labels))
    sizes = [int(labels[part].sum()) for part in (split.train, split.validation, split.test)]
    minimum = [count >= 1, count >= 2, count >= 3 and requested.test > 0]
    assert all(size >= one for size, one in zip(sizes, minimum, strict=True))
    if count > 20:  # enough rows for the share of every part
        assert abs(sizes[1] - count * requested.validation) <= 1
        assert abs(sizes[2] - count * requested.test) <= 1


@given(st.lists(st.integers(0, 4), min_size=2, max_size=200), st.integers(0, 5))
def test_a_stratified_split_is_a_partition(labels: list[int], seed: int) -> None:
    array = np.array(labels)
    split = split_stratified(array, Shares(), np.random.default_rng(seed))
    check_partition(split, len(labels))
    for label, count in zip(*np.unique(array, return_counts=True), strict=True):
        inside = [int((array[part] == label).sum()) for part in (split.train, split.validation)]
        assert inside[0] >= 1
        if count >= 2:
            assert inside[1] >= 1
        assert abs(inside[1] - 0.2 * count) <= 1


def test_rows_of_a_class_are_shuffled() -> None:
    """Rows that are sorted within a class are spread over all parts."""
    labels = np.repeat([0, 1], [10, 30])
    repeats = 400
    test_counts = np.zeros(40)
    for seed in range(repeats):
        test_counts[split_stratified(labels, Shares(), np.random.default_rng(seed)).test] += 1
    deviation = np.sqrt(repeats * 0.2 * 0.8)
    assert np.abs(test_counts - 0.2 * repeats).max() < 4 * deviation


@given(st.integers(3, 300))
def test_a_random_split_is_a_partition(rows: int) -> None:
    split = split_random(rows, Shares(validation=0.1, test=0.3), np.random.default_rng(0))
    check_partition(split, rows)
    assert len(split.test) == max(1, round(0.3 * rows))
    assert len(split.validation) == max(1, round(0.1 * rows))
    again = split_random(rows, Shares(validation=0.1, test=0.3), np.random.default_rng(0))
    assert (again.train == split.train).all()


def test_time_order() -> None:
    times = np.random.default_rng(0).permutation(100)
    split = split_by_time(times, Shares())
    check_partition(split, 100)
    assert times[split.train].max() < times[split.validation].min()
    assert times[split.validation].max() < times[split.test].min()
    assert [len(part) for part in (split.train, split.validation, split.test)] == [60, 20, 20]


@given(st.lists(st.integers(0, 12), min_size=3, max_size=60))
def test_rows_of_the_same_time_stay_together(times: list[int]) -> None:
    array = np.array(times)
    if len(np.unique(array)) < 3:
        return
    split = split_by_time(array, Shares())
    check_partition(split, len(times))
    parts = [array[part] for part in (split.train, split.validation, split.test)]
    assert all(map(len, parts))
    assert parts[0].max() < parts[1].min()
    assert parts[1].max() < parts[2].min()


def test_a_split_by_time_is_cut_between_times_nearest_to_the_shares() -> None:
    times = np.repeat([1, 2, 3, 4, 5], [50, 12, 10, 9, 19])  # they end at 50, 62, 72, 81, 100
    split = split_by_time(np.random.default_rng(0).permutation(times), Shares())
    assert [len(part) for part in (split.train, split.validation, split.test)] == [62, 19, 19]
    split = split_by_time(np.arange(100), Shares(validation=0.1, test=0.3))
    assert [len(part) for part in (split.train, split.validation, split.test)] == [60, 10, 30]
    split = split_by_time(times, Shares(validation=0.3, test=0.0))
    assert split.train.tolist() == list(range(72))
    assert len(split.test) == 0


@given(st.lists(st.integers(0, 30), min_size=10, max_size=200), st.integers(0, 3))
def test_groups_stay_together(groups: list[int], seed: int) -> None:
    array = np.array(groups)
    if len(np.unique(array)) < 3:
        return
    split = split_by_group(array, Shares(), np.random.default_rng(seed))
    check_partition(split, len(groups))
    parts = [set(array[part]) for part in (split.train, split.validation, split.test)]
    assert all(parts)
    assert not parts[0] & parts[1]
    assert not parts[1] & parts[2]
    assert not parts[0] & parts[2]


@pytest.mark.parametrize("seed", range(10))
def test_groups_are_assigned_near_the_shares(seed: int) -> None:
    """Groups of 1 to 20 rows are assigned so that parts are near their shares."""
    groups = np.repeat(np.arange(20), np.arange(1, 21))
    split = split_by_group(groups, Shares(), np.random.default_rng(seed))
    sizes = [len(part) for part in (split.train, split.validation, split.test)]
    assert sizes == pytest.approx([126, 42, 42], abs=4)


def test_no_test_part() -> None:
    split = split_random(50, Shares(test=0.0), np.random.default_rng(0))
    assert len(split.test) == 0
    check_partition(split, 50)


def test_invalid_splits_are_refused() -> None:
    with pytest.raises(TabNASError, match="must leave rows"):
        Shares(validation=0.5, test=0.5)
    with pytest.raises(TabNASError, match="at least 3 of them"):
        split_by_group(np.array([0, 0, 1]), Shares(), np.random.default_rng(0))


@pytest.mark.parametrize("groups", [["a", " a", "b", "c"], [1.0, np.nan, np.nan, 2.0]])
def test_groups_without_numbers_are_refused(groups: list[object]) -> None:
    with pytest.raises(TabNASError, match=r"groups must be integers, .* to_group_ids\(\) makes"):
        split_by_group(np.array(groups), Shares(), np.random.default_rng(0))
