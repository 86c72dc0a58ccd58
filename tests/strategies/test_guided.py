from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.strategies import Guided, RandomSearch, Strategy, optimize
from tabnas.strategies._guided import log_gain
from tabnas.testing._strategies import check_recommendations, check_suggestions
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace.uniform(layers=3, widths=range(4, 52, 4), inputs=10, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=1_000))
OWN = np.random.default_rng(5).normal(size=(12, 12, 12))


def smooth(choices: IntArray) -> FloatArray:
    """Wider is better, the last layer most; no architecture has anything of its own."""
    return np.asarray(np.log(choices + 1.0) @ [0.5, 1.0, 1.5])


def rough(choices: IntArray) -> FloatArray:
    """The same, with something of its own for each architecture."""
    return smooth(choices) + 0.1 * OWN[tuple(choices.T)]


def noisy(seed: int, deviation: float) -> Callable[[IntArray], FloatArray]:
    rng = np.random.default_rng([seed, 1])
    return lambda choices: rough(choices) + deviation * rng.normal(size=len(choices))


def best_of(quality: Callable[[IntArray], FloatArray]) -> float:
    return float(quality(FEASIBLE.members).max())


def found(strategy: Strategy) -> float:
    return float(rough(np.array([SPACE.choices(strategy.recommend()[0])]))[0])


def test_it_keeps_the_contract_where_v_is_not_listed() -> None:
    def pooling(feasible: FeasibleSet, seed: int) -> Guided:
        return Guided(feasible, rng=seed, max_enumerated=0)

    check_suggestions(pooling, FEASIBLE)
    check_recommendations(pooling, FEASIBLE)


@pytest.mark.parametrize("listed", [0, 20_000])
def test_the_best_is_found_by_few_evaluations(listed: int) -> None:
    for seed in range(3):
        strategy = Guided(FEASIBLE, rng=seed, max_enumerated=listed)
        optimize(strategy, rough, 80)
        assert found(strategy) == best_of(rough)


def test_the_best_of_a_v_that_cannot_be_listed_is_found() -> None:
    space = SearchSpace.uniform(layers=5, inputs=1027, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=75_353))  # 340,590 members
    worth = np.log(np.arange(1, 21)) * np.array([2.0, 1.5, 1.0, 1.5, 2.0])[:, None]

    def quality(choices: IntArray) -> FloatArray:
        return np.asarray(worth[np.arange(5), choices].sum(axis=-1))

    strategy = Guided(feasible, rng=0)
    optimize(strategy, quality, 120)
    best = np.array(space.choices(feasible.most_likely(1, worth)[0]))
    answer = np.array(space.choices(strategy.recommend()[0]))
    assert quality(answer) >= quality(best) - 0.05


def test_without_noise_the_answer_is_the_best_one_seen() -> None:
    strategy = Guided(FEASIBLE, rng=0)
    for number in (22, 40, 90):
        optimize(strategy, rough, number)
        choices, quality = strategy.mean_qualities()
        assert found(strategy) == quality.max()
    assert len(choices) >= 80  # next to nothing was looked at twice


def test_with_noise_the_best_are_evaluated_again_and_the_answer_is_better() -> None:
    own, blind, by_mean = [], [], []
    for seed in range(5):
        strategy = Guided(FEASIBLE, rng=seed)
        optimize(strategy, noisy(seed, 0.5), 150)
        assert len(strategy.mean_qualities()[0]) < 120
        own.append(found(strategy))
        best_seen = Strategy.recommend(strategy)[0]
        by_mean.append(float(rough(np.array([SPACE.choices(best_seen)]))[0]))
        random = RandomSearch(FEASIBLE, rng=seed)
        optimize(random, noisy(seed, 0.5), 150)
        blind.append(found(random))
    assert np.mean(own) > np.mean(by_mean)
    assert np.mean(own) > np.mean(blind) + 0.1


@pytest.mark.parametrize("power", [-30, 5])
def test_the_scale_of_qualities_does_not_matter(power: int) -> None:
    one, other = Guided(FEASIBLE, rng=0), Guided(FEASIBLE, rng=0)
    optimize(one, rough, 40)
    optimize(other, lambda choices: 2.0**power * rough(choices), 40)
    assert np.array_equal(one.suggest(), other.suggest())
    assert one.recommend(3) == other.recommend(3)


def test_what_is_over_the_limit_is_learned_from_and_never_named() -> None:
    every = np.indices((12, 12, 12)).reshape(3, -1).T
    over = every[~FEASIBLE.contains(every)]
    strategy = Guided(FEASIBLE, rng=0)
    strategy.update(over[::20], smooth(over[::20]) + 10)
    assert strategy.recommend(5) == []
    for _ in range(4):
        choices = strategy.suggest()
        assert FEASIBLE.contains(choices).all()
        strategy.update(choices, smooth(choices))
    assert all(one in FEASIBLE for one in strategy.recommend(10))


def test_constant_qualities_are_handled() -> None:
    strategy = Guided(FEASIBLE, rng=0)
    optimize(strategy, lambda choices: np.full(len(choices), 0.7), 40)
    assert len(strategy.recommend(3)) == 3


@given(st.floats(-6, 6), st.floats(0.01, 4), st.floats(0, 4))
def test_the_gain_is_the_expected_rise_of_the_best_mean(
    mean: float, variance: float, noise: float
) -> None:
    step = variance / (variance + noise) ** 0.5
    z = mean / step
    gain = step * (z * norm.cdf(z) + norm.pdf(z))
    ours = log_gain(np.array([mean]), np.array([variance]), best=0.0, noise=noise)
    # but for a constant, which makes no difference to what is largest
    if gain > 1e-12:
        assert ours[0] == pytest.approx(np.log(gain) + np.log(2 * np.pi) / 2, abs=1e-3)


def test_the_gain_tells_the_hopeless_apart() -> None:
    mean = -np.logspace(-2, 5, 200)
    gain = log_gain(mean, np.full(200, 1e-4), best=0.0, noise=0.0)
    assert np.isfinite(gain).all()
    assert (np.diff(gain[mean > -90]) < 0).all()
    certain = log_gain(np.array([1.0, 0.0, -1.0]), np.zeros(3), best=0.0, noise=0.0)
    assert np.isfinite(certain).all()
    assert certain.argmax() == 0


@pytest.mark.parametrize(
    ("option", "value"), [("initial", 0), ("batch", 0), ("degree", 0), ("initial_repeats", -1)]
)
def test_impossible_options_are_refused(option: str, value: int) -> None:
    with pytest.raises(TabNASError, match=f"{option} must be"):
        Guided(FEASIBLE, rng=0, **{option: value})
