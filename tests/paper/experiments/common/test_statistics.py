from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from tabnas.paper.experiments.common import (
    Mean,
    add_holm,
    compare_runs,
    half_interval,
    pearson,
    spearman,
    summarize_runs,
)
from tabnas.paper.experiments.common._wording import describe_verdict, format_mean

NOISE = np.random.default_rng(0).normal(size=60)
VALUES = st.lists(st.integers(-50, 50), min_size=3, max_size=30)


def runs(
    values: np.ndarray, cell: tuple[str, int] = ("a", 10)
) -> dict[tuple[str, int, int], float]:
    return {(*cell, seed): float(value) for seed, value in enumerate(values)}


def test_seeds_that_share_trainings_are_one_observation() -> None:
    values = 1.5 + NOISE[:21]
    mean = Mean.from_runs(runs(values))
    groups = [values[k::3].mean() for k in range(3)]
    test = ttest_1samp(groups, 0)
    low, high = test.confidence_interval()
    assert mean.value == pytest.approx(values.mean())
    assert mean.dof == 2
    assert mean.p == pytest.approx(test.pvalue)
    assert mean.interval == pytest.approx((high - low) / 2)


def test_repeating_runs_that_share_trainings_does_not_reduce_the_error() -> None:
    few = NOISE[:3]
    many = np.tile(few, 10)
    once, repeated = (Mean.from_runs(runs(values)) for values in (few, many))
    assert repeated.standard_error == pytest.approx(once.standard_error)


def test_differences_between_tables_do_not_add_to_the_error() -> None:
    """Tables and limits are fixed: only variation within them makes a mean uncertain."""
    near, far = runs(NOISE[:21], ("a", 10)), runs(100 + NOISE[21:42], ("b", 10))
    both = Mean.from_runs(near | far)
    assert both.value == pytest.approx(50, abs=1)
    errors = [Mean.from_runs(part).standard_error for part in (near, far)]
    assert both.standard_error == pytest.approx(np.hypot(*errors) / 2)
    assert both.dof == 4


def test_paired_differences() -> None:
    base = {("a", 10, seed): NOISE[seed] for seed in range(20)}
    base |= {("b", 10, seed): NOISE[20 + seed] for seed in range(20)}
    steps = {"a": 1.0, "b": 2.0}
    worse = {name: value + steps[name[0]] + name[-1] % 3 / 10 for name, value in base.items()}
    comparison = compare_runs(worse, base)
    assert comparison["difference"] == pytest.approx(1.595)
    assert 1 < comparison["low"] < 1.595 < comparison["high"] < 2
    assert comparison["p"] < 0.001
    assert comparison["tables"] == pytest.approx({"a": 1.095, "b": 2.095})
    assert compare_runs(base, worse)["difference"] == -comparison["difference"]
    same = compare_runs(base, base)
    assert (same["difference"], same["low"], same["high"], same["p"]) == (0, 0, 0, 1)


def test_runs_without_a_partner_are_ignored() -> None:
    base, other = runs(np.zeros(6)), runs(np.ones(9))
    assert compare_runs(other, base)["difference"] == 1


def test_a_single_run_has_no_interval() -> None:
    summary = summarize_runs(runs(np.array([3.0])))
    assert summary == {"runs": 1, "mean": 3.0, "interval": None, "near_best": 0.0}
    assert format_mean(summary) == "3.00"
    assert compare_runs(runs(np.array([3.0])), runs(np.array([1.0])))["p"] == 1
    assert half_interval([2.0]) == 0
    assert half_interval([0.0, 4.0]) == pytest.approx(1.96 * 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_starts_with_bonferroni_and_preserves_the_order(values: list[float]) -> None:
    comparisons = [{"p": p} for p in values]
    add_holm(comparisons)
    ranked = sorted(comparisons, key=lambda comparison: comparison["p"])
    assert ranked[0]["p_holm"] == min(1.0, len(values) * ranked[0]["p"])
    corrected = [comparison["p_holm"] for comparison in ranked]
    assert corrected == sorted(corrected)
    assert all(comparison["p"] <= comparison["p_holm"] <= 1 for comparison in comparisons)


def test_holm_of_three() -> None:
    comparisons = [{"p": 0.04}, {"p": 0.01}, {"p": 0.03}]
    add_holm(comparisons)
    corrected = [comparison["p_holm"] for comparison in comparisons]
    assert corrected == pytest.approx([0.06, 0.03, 0.06])


def test_verdicts_use_corrected_p_values() -> None:
    comparisons = {
        "a": {"difference": 0.2, "p_holm": 0.01},
        "b": {"difference": -0.2, "p_holm": 0.04},
        "c": {"difference": 0.9, "p_holm": 0.06},
    }
    verdict = describe_verdict(comparisons)
    assert verdict == "Worse: a. Better: b. No significant difference: c."
    verdict = describe_verdict({"c": comparisons["c"]})
    assert verdict == "Worse: none. Better: none. No significant difference: c."


@given(VALUES, st.randoms(use_true_random=False))
def test_correlations_are_those_of_numpy(values: list[int], random: Any) -> None:
    other = [value + random.randint(-20, 20) for value in values]
    if len(set(values)) < 2 or len(set(other)) < 2:
        assert pearson(values, other) == 0
        return
    assert pearson(values, other) == pytest.approx(np.corrcoef(values, other)[0, 1], abs=1e-9)


@given(VALUES)
def test_spearman_depends_on_the_order_only(values: list[int]) -> None:
    if len(set(values)) < 2:
        return
    assert spearman(values, [value**3 for value in values]) == pytest.approx(1)
    assert spearman(values, [-value for value in values]) == pytest.approx(-1)


def test_ties_share_their_mean_rank() -> None:
    # ranks 0.5, 0.5, 2 and 0, 1, 2: r = 1.5 / sqrt(1.5 * 2)
    assert spearman([1, 1, 5], [1, 2, 3]) == pytest.approx(np.sqrt(3) / 2)
