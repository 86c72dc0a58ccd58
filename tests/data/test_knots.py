"""The knots of numeric embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.data import choose_knots, summarize_values
from tabnas.data._knots import MIN_GAP, SUMMARY_VALUES

LARGEST = float(np.finfo(np.float32).max)
FLOATS = st.floats(-LARGEST, LARGEST, width=32)
ODD = st.sampled_from(
    [0.0, -0.0, 1.0, np.nextafter(np.float32(1), np.float32(2)).item(), 1e-45, 3e-45, -1e-45,
     MIN_GAP, 1.5 * MIN_GAP, 1e30, LARGEST, -LARGEST]
).map(lambda number: np.float32(number).item())  # fmt: skip


@st.composite
def columns(draw: st.DrawFn) -> np.ndarray:
    """Draw columns of few values with many ties, of ordinary, of extreme, and of any values."""
    pool = draw(st.lists(st.one_of(ODD, FLOATS, st.floats(-3, 3, width=32)), min_size=1))
    values = st.one_of(st.sampled_from(pool), draw(st.sampled_from([ODD, FLOATS])))
    rows = draw(st.lists(values, min_size=1, max_size=60))
    repeats = draw(st.lists(st.integers(1, 40), min_size=len(rows), max_size=len(rows)))
    return np.repeat(np.array(rows, np.float32), repeats)


def knots_of(column: np.ndarray, max_knots: int) -> tuple[float, ...]:
    return choose_knots(summarize_values(np.asarray(column, np.float32)[:, None])[0], max_knots)


@given(columns(), st.integers(3, 40))
def test_knots_of_any_column_can_be_read_between(column: np.ndarray, max_knots: int) -> None:
    knots = np.array(knots_of(column, max_knots), np.float32)
    assert len(knots) == 0 or 3 <= len(knots) <= max_knots
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        gaps = np.diff(knots)
        assert (gaps > 0).all()
        assert np.isfinite(1 / gaps).all()
    with np.errstate(over="ignore"):  # far beyond the knots; the fraction is then cut to 0 or 1
        fractions = (column[:, None] - knots[:-1]) / gaps if len(knots) else gaps
    assert not np.isnan(fractions).any()


@given(columns(), st.integers(3, 40))
def test_knots_span_the_values_and_are_some_of_them(column: np.ndarray, max_knots: int) -> None:
    ordinary = column[(np.abs(column) < LARGEST / 2) & ((np.abs(column) > 1e-30) | (column == 0))]
    knots = knots_of(ordinary, max_knots) if len(ordinary) else ()
    distinct = np.unique(ordinary)
    assert set(knots) <= set(distinct.tolist())
    if knots:
        assert (knots[0], knots[-1]) == (distinct[0], distinct[-1])
    if len(ordinary) <= SUMMARY_VALUES and 3 <= len(distinct) <= max_knots:
        assert knots == tuple(distinct.tolist())


@pytest.mark.parametrize("values", [[], [2.0], [1.0, 1.0], [0.0, -0.0, 0.0], [0.0, 1.0, 1.0]])
def test_constant_and_two_valued_columns_have_none(values: list[float]) -> None:
    assert choose_knots(np.array(values, np.float32), 32) == ()


def test_knots_are_quantiles() -> None:
    column = np.random.default_rng(0).lognormal(size=20_001).astype(np.float32)
    knots = knots_of(column, 9)
    expected = np.quantile(column, np.linspace(0, 1, 9))
    np.testing.assert_allclose(knots, expected, rtol=0.02)
    shares = np.histogram(column, knots)[0] / len(column)
    np.testing.assert_allclose(shares, 1 / 8, atol=0.002)


@given(st.floats(0.1, 0.95), st.integers(4, 32), st.integers(0, 5))
def test_a_point_mass_is_one_knot_and_the_others_share_the_rest(
    share: float, max_knots: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    column = np.where(rng.random(4_000) < share, 0, rng.exponential(size=4_000)).astype(np.float32)
    knots = knots_of(column, max_knots)
    assert knots.count(0.0) == 1
    assert max_knots - 2 <= len(knots) <= max_knots
    positive = column[column > 0]
    shares = np.histogram(positive, knots)[0] / len(positive)
    assert shares.max() < 2.5 / (len(knots) - 1)


def test_the_summary_is_small_and_keeps_the_extremes() -> None:
    numeric = np.random.default_rng(0).normal(size=(50_000, 2)).astype(np.float32)
    for column, summary in zip(numeric.T, summarize_values(numeric), strict=True):
        assert len(summary) == SUMMARY_VALUES
        assert (np.diff(summary) >= 0).all()
        assert (summary[0], summary[-1]) == (column.min(), column.max())


def test_values_too_close_for_float32_are_one_knot() -> None:
    tiny = np.float32(1e-45)
    assert choose_knots(np.array([0, tiny, 2 * tiny, 1, 2], np.float32), 8) == (0.0, 1.0, 2.0)


def test_a_gap_is_at_most_the_largest_number() -> None:
    knots = choose_knots(np.array([-LARGEST, -1, 1, LARGEST], np.float32), 8)
    assert knots == (-LARGEST / 2, -1.0, 1.0, LARGEST / 2)
