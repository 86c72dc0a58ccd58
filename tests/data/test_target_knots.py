"""Knots that a tree of one feature chooses by the target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.data import KnotTarget, choose_knots, choose_target_knots, summarize_values
from tabnas.data import _target_knots as module
from tabnas.data._target_knots import MAX_CLASSES, MIN_TREE_KNOTS
from tests.data.test_knots import columns

ROWS = 4_000


def knots_of(
    column: np.ndarray, y: np.ndarray, classes: int = 0, count: int = 64, weight=None
) -> np.ndarray:
    target = KnotTarget(y, classes, weight)
    numeric = np.asarray(column, np.float32)[:, None]
    return np.array(choose_target_knots(numeric, target, [count])[count][0])


@pytest.mark.parametrize("classes", [0, 2, 5])
def test_a_feature_without_influence_has_a_few_quantiles(classes: int) -> None:
    rng = np.random.default_rng(0)
    column = rng.normal(size=ROWS).astype(np.float32)
    y = rng.integers(0, classes, ROWS) if classes else rng.normal(size=ROWS)
    summary = summarize_values(column[:, None])[0]
    assert tuple(knots_of(column, y, classes)) == choose_knots(summary, MIN_TREE_KNOTS)


@pytest.mark.parametrize("classes", [0, 2])
def test_knots_are_where_the_target_changes(classes: int) -> None:
    """Between 0 and 0.1, the target changes three times, and nowhere else."""
    rng = np.random.default_rng(0)
    column = rng.uniform(size=ROWS)
    y = np.digitize(column, [0.02, 0.05, 0.09]) % 2
    knots = knots_of(column, y if classes else y + 0.1 * rng.normal(size=ROWS), classes)
    for change in (0.02, 0.05, 0.09):
        assert np.abs(knots - change).min() < 0.003
    assert (knots > 0.1).sum() == 2  # a median and the largest value


def test_a_value_that_differs_from_its_neighbours_has_a_knot() -> None:
    rng = np.random.default_rng(0)
    column = rng.integers(0, 60, ROWS).astype(np.float32)
    knots = knots_of(column, (column == 37).astype(int), 2)
    assert {36.5, 37.0, 37.5} <= set(knots.tolist())


@given(columns(), st.integers(3, 40), st.sampled_from([0, 2, 40]), st.integers(0, 9))
def test_knots_of_any_column_can_be_read_between(
    column: np.ndarray, count: int, classes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, len(column)) if classes else rng.normal(size=len(column))
    knots = knots_of(column, y, classes, count).astype(np.float32)
    assert len(knots) == 0 or 3 <= len(knots) <= count
    assert bool(len(knots)) == bool(choose_knots(np.sort(column), 3))
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        gaps = np.diff(knots)
        assert (gaps > 0).all()
        assert np.isfinite(1 / gaps).all()


@given(st.integers(0, 9), st.integers(-6, 6).map(lambda power: 2.0**power))
def test_the_unit_of_weights_and_of_the_target_does_not_matter(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    column, weight = rng.uniform(size=ROWS), rng.exponential(size=ROWS)
    y = np.sin(20 * column) + rng.normal(size=ROWS)
    knots = knots_of(column, y, weight=weight)
    np.testing.assert_array_equal(knots_of(column, y, weight=unit * weight), knots)
    np.testing.assert_array_equal(knots_of(column, unit * y, weight=weight), knots)


def test_rows_without_weight_do_not_count() -> None:
    rng = np.random.default_rng(0)
    column = rng.integers(0, 60, ROWS).astype(np.float32)
    y = (column == 37).astype(int)
    noise = knots_of(column, y, 2, weight=(column != 37).astype(float))
    assert len(noise) == MIN_TREE_KNOTS
    assert len(knots_of(column, y, 2, weight=np.zeros(ROWS))) > MIN_TREE_KNOTS  # as if equal


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rare", [0.005, 0.01, 0.05])
def test_balanced_classes_make_no_knots_of_noise(rare: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=3 * ROWS) < rare).astype(int)
    weight = np.where(y, 1 / rare, 1.0).astype(np.float32)
    knots = knots_of(rng.normal(size=len(y)), y, 2, weight=weight)
    assert len(knots) == MIN_TREE_KNOTS


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.0])
def test_a_few_large_weights_make_no_knots_of_noise(sigma: float, classes: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS) if classes else rng.normal(size=ROWS)
    weight = rng.lognormal(sigma=sigma, size=ROWS)
    assert len(knots_of(rng.normal(size=ROWS), y, classes, weight=weight)) == MIN_TREE_KNOTS


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("weight", [1e37, 1e-40])
def test_weights_may_be_very_large_or_small(weight: float, classes: int) -> None:
    column = np.random.default_rng(0).uniform(size=ROWS)
    y = (np.floor(20 * column) % 2).astype(int)
    weights = np.full(ROWS, weight, np.float32)
    expected = knots_of(column, y, classes)
    assert len(expected) > 20
    np.testing.assert_allclose(knots_of(column, y, classes, weight=weights), expected)


@pytest.mark.parametrize("classes", [0, 2])
def test_a_single_threshold_is_a_knot_among_quantiles(classes: int) -> None:
    column = np.random.default_rng(0).uniform(size=ROWS)
    knots = knots_of(column, (column > 0.93).astype(int), classes)
    assert np.abs(knots - 0.93).min() < 0.001
    assert len(knots) == MIN_TREE_KNOTS


def test_a_few_values_that_quantiles_miss_have_knots() -> None:
    rng = np.random.default_rng(0)
    column = np.zeros(100_000, np.float32)
    column[:50] = rng.uniform(1, 2, 50)
    knots = knots_of(column, (column > 0).astype(int), 2)
    assert len(knots) >= 3
    assert 0 < knots[1] < 1  # between zeros and the others


def test_a_rare_one_of_few_values_has_a_knot() -> None:
    column = np.zeros(20_000, np.float32)
    column[:13] = [1, 2, 5, 1, 2, 5, 1, 2, 5, 1, 2, 5, 1]
    assert knots_of(column, (column > 0).astype(int), 2).tolist() == [0, 1, 2, 5]


def test_one_number_far_out_takes_no_knots() -> None:
    rng = np.random.default_rng(0)
    column = rng.uniform(size=ROWS)
    y = np.sin(20 * column) + 0.3 * rng.normal(size=ROWS)
    expected = len(knots_of(column, y))
    assert expected > 20
    y[0] = 1_000.0
    assert abs(len(knots_of(column, y)) - expected) <= 2


def test_the_rarest_of_many_classes_count_as_one() -> None:
    y = np.repeat(np.arange(100), np.arange(100, 0, -1))[::-1]
    pooled = KnotTarget(y, 100).simplify()
    assert pooled.classes == MAX_CLASSES
    for common in range(MAX_CLASSES - 1):
        assert set(y[pooled.y == common]) == {common}
    assert set(y[pooled.y == MAX_CLASSES - 1]) == set(range(MAX_CLASSES - 1, 100))
    few = KnotTarget(y % 3, 3)
    assert few.simplify() is few


def test_of_many_distinct_values_quantiles_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    column = rng.uniform(size=ROWS).astype(np.float32)
    y = (column > 0.3).astype(int)
    exact = knots_of(column, y, 2)
    monkeypatch.setattr(module, "MAX_BINS", 1_000)
    np.testing.assert_allclose(knots_of(column, y, 2), exact, atol=0.01)


def test_thresholds_of_quantiles_lie_between_neighbouring_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The values of the next bin may be far below its end."""
    monkeypatch.setattr(module, "MAX_BINS", 100)
    rng = np.random.default_rng(0)
    column = np.sort(rng.lognormal(sigma=3, size=ROWS)).astype(np.float32)
    change = column[-ROWS // 100 * 3]
    knots = knots_of(column, (column > change).astype(int), 2)
    assert np.abs(np.log(knots[knots > 0]) - np.log(change)).min() < 0.2
