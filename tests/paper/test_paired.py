from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from tabnas.paper.experiments import _paired_words as words
from tabnas.paper.experiments._paired import (
    Mean,
    compared,
    described,
    holm,
    interval_of,
)

NOISE = np.random.default_rng(0).normal(size=60)


def runs(
    values: np.ndarray, cell: tuple[str, int] = ("a", 10)
) -> dict[tuple[str, int, int], float]:
    return {(*cell, seed): float(value) for seed, value in enumerate(values)}


def test_seeds_that_share_trainings_are_one_observation() -> None:
    values = 1.5 + NOISE[:21]
    mean = Mean.of(runs(values))
    groups = [values[k::3].mean() for k in range(3)]
    test = ttest_1samp(groups, 0)
    low, high = test.confidence_interval()
    assert mean.value == pytest.approx(values.mean())
    assert mean.freedom == 2
    assert mean.p == pytest.approx(test.pvalue)
    assert mean.interval == pytest.approx((high - low) / 2)


def test_to_repeat_what_shares_its_trainings_tells_nothing_new() -> None:
    few = NOISE[:3]
    many = np.tile(few, 10)
    assert Mean.of(runs(many)).error == pytest.approx(Mean.of(runs(few)).error)


def test_differences_between_tables_are_no_error() -> None:
    """Tables and limits are given: only what varies within them makes a mean uncertain."""
    near, far = runs(NOISE[:21], ("a", 10)), runs(100 + NOISE[21:42], ("b", 10))
    both = Mean.of(near | far)
    assert both.value == pytest.approx(50, abs=1)
    expected = (Mean.of(near).error ** 2 + Mean.of(far).error ** 2) ** 0.5 / 2
    assert both.error == pytest.approx(expected)
    assert both.freedom == 4


def test_paired_differences() -> None:
    base = {("a", 10, seed): NOISE[seed] for seed in range(20)}
    base |= {("b", 10, seed): NOISE[20 + seed] for seed in range(20)}
    steps = {"a": 1.0, "b": 2.0}
    worse = {name: value + steps[name[0]] + name[-1] % 3 / 10 for name, value in base.items()}
    said = compared(worse, base)
    assert said["more"] == pytest.approx(1.595)
    assert 1 < said["low"] < 1.595 < said["high"] < 2
    assert said["p"] < 0.001
    assert said["tables"] == pytest.approx({"a": 1.095, "b": 2.095})
    assert compared(base, worse)["more"] == -said["more"]
    same = compared(base, base)
    assert (same["more"], same["low"], same["high"], same["p"]) == (0, 0, 0, 1)


def test_runs_that_only_one_has_are_left_out() -> None:
    base, other = runs(np.zeros(6)), runs(np.ones(9))
    assert compared(other, base)["more"] == 1


def test_where_nothing_is_known_of_the_error_nothing_is_said() -> None:
    said = described(runs(np.array([3.0])))
    assert said == {"runs": 1, "mean": 3.0, "interval": None, "near": 0.0}
    assert words.mean(said) == "3.00"
    assert compared(runs(np.array([3.0])), runs(np.array([1.0])))["p"] == 1
    assert interval_of([2.0]) == 0
    assert interval_of([0.0, 4.0]) == pytest.approx(1.96 * 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_begins_with_bonferroni_and_keeps_the_order(values: list[float]) -> None:
    said = [{"p": p} for p in values]
    holm(said)
    ranked = sorted(said, key=lambda one: one["p"])
    assert ranked[0]["p_holm"] == min(1.0, len(values) * ranked[0]["p"])
    corrected = [one["p_holm"] for one in ranked]
    assert corrected == sorted(corrected)
    assert all(one["p"] <= one["p_holm"] <= 1 for one in said)


def test_holm_of_three() -> None:
    said = [{"p": 0.04}, {"p": 0.01}, {"p": 0.03}]
    holm(said)
    assert [one["p_holm"] for one in said] == pytest.approx([0.06, 0.03, 0.06])


def test_a_difference_is_one_after_the_correction() -> None:
    said = {
        "a": {"more": 0.2, "p_holm": 0.01},
        "b": {"more": -0.2, "p_holm": 0.04},
        "c": {"more": 0.9, "p_holm": 0.06},
    }
    assert words.verdict(said) == "Worse: a. Better: b. No difference seen: c."
    assert words.verdict({"c": said["c"]}) == "Worse: none. Better: none. No difference seen: c."
