"""The tree of one feature is that of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tabnas.data._feature_tree import BinnedTarget

ROWS = 2_000
MIN_ROWS, MIN_GAIN = 20, 8.0


@given(
    st.integers(0, 30),
    st.sampled_from([0, 2, 4]),
    st.integers(3, 400),
    st.integers(2, 12),
    st.booleans(),
)
def test_it_grows_as_the_tree_of_scikit_learn(
    seed: int, classes: int, values: int, max_leaves: int, is_weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    column = rng.integers(0, values, ROWS)
    signal = np.sin(column * rng.uniform(0, 10 / values)) + 0.3 * rng.normal(size=ROWS)
    weight = rng.exponential(size=ROWS) if is_weighted else np.ones(ROWS)
    bins = np.unique(column, return_inverse=True)[1]
    options = {
        "max_leaf_nodes": max_leaves,
        "min_weight_fraction_leaf": MIN_ROWS / weight.sum(),
        "random_state": 0,
    }
    if classes:
        y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, classes + 1)[1:-1]))
        binned = BinnedTarget.from_classes(bins, y, classes, weight)
        tree = DecisionTreeClassifier(
            criterion="entropy",
            min_impurity_decrease=MIN_GAIN / np.log(2) / weight.sum(),
            **options,
        )
        tree.fit(bins[:, None], y, weight)
    else:
        binned = BinnedTarget.from_numbers(bins, signal, weight)
        assert binned.variance == pytest.approx(np.cov(signal, aweights=weight, ddof=0))
        # a squared error e is e / (2 variance) nats
        decrease = MIN_GAIN * 2 * binned.variance / weight.sum()
        tree = DecisionTreeRegressor(min_impurity_decrease=decrease, **options)
        tree.fit(bins[:, None], signal, weight)
    splits = binned.find_splits(max_leaves - 1, min_gain=MIN_GAIN, min_rows=MIN_ROWS)
    thresholds = tree.tree_.threshold[tree.tree_.feature >= 0]
    np.testing.assert_array_equal(np.sort(splits), np.sort(np.floor(thresholds)))

    leaves = tree.apply(bins[:, None].astype(np.float32))
    medians = sorted(_median(bins[leaves == leaf], weight[leaves == leaf]) for leaf in set(leaves))
    np.testing.assert_array_equal(binned.find_medians(splits), medians)


def _median(bins: np.ndarray, weight: np.ndarray) -> int:
    order = np.argsort(bins, kind="stable")
    below = np.cumsum(weight[order])
    return int(bins[order][np.searchsorted(below, below[-1] / 2)])


@pytest.mark.parametrize("classes", [0, 3])
def test_a_smaller_tree_is_the_beginning_of_a_larger_one(classes: int) -> None:
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 100, ROWS)
    y = bins // 7 % 3
    binned = (
        BinnedTarget.from_classes(bins, y, classes, np.ones(ROWS))
        if classes
        else BinnedTarget.from_numbers(bins, y.astype(float), np.ones(ROWS))
    )
    largest = binned.find_splits(20, min_gain=0.0, min_rows=1)
    assert len(largest) == 14  # where the target changes
    for count in range(14):
        fewer = binned.find_splits(count, min_gain=0.0, min_rows=1)
        np.testing.assert_array_equal(fewer, largest[:count])


def test_a_gain_is_the_difference_of_log_likelihoods() -> None:
    """Two classes, 10 of 40 rows and 30 of 40: each leaf has its own frequencies."""
    bins, y = np.repeat([0, 1], 40), np.repeat([0, 1, 0, 1], [10, 30, 30, 10])
    binned = BinnedTarget.from_classes(bins, y, 2, np.ones(80))
    together = 80 * np.log(0.5)
    apart = 2 * (10 * np.log(0.25) + 30 * np.log(0.75))
    split, gain = binned._find_best_split(0, 2, min_rows=1)
    assert split == 1
    assert gain == pytest.approx(apart - together)


def test_bins_without_weight_and_single_bins_are_not_divided() -> None:
    bins, y = np.array([0, 1, 2, 3] * 50), np.array([0.0, 1.0, 0.0, 1.0] * 50)
    weight = np.isin(bins, [1, 3]).astype(float)  # only the number 1
    equal = BinnedTarget.from_numbers(bins, y, weight)
    assert equal.find_splits(9, min_gain=0.0, min_rows=1).size == 0
    one = BinnedTarget.from_numbers(np.zeros(9, np.int64), np.arange(9.0), np.ones(9))
    assert one.find_splits(9, min_gain=0.0, min_rows=1).size == 0
    np.testing.assert_array_equal(one.find_medians(np.array([], np.int64)), [0])
