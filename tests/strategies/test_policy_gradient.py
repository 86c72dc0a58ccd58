from __future__ import annotations

import numpy as np
import pytest

from tabnas import Architecture, Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.strategies import PolicyGradient, optimize
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
TOY = FeasibleSet(SPACE, Budget(dense_parameters=25))
LOSSES = np.array([[0.9, 0.9, 0.66], [0.9, 0.66, 0.3], [0.6, 0.3, 0.1]])  # of the paper's toy


def quality(choices: IntArray) -> FloatArray:
    return np.asarray(1 - LOSSES[tuple(choices.T)])


def test_it_is_the_controller() -> None:
    strategy = PolicyGradient(TOY, rng=3, learning_rate=0.05, epsilon=1e-8, workers=2)
    optimize(strategy, quality, 40)
    controller = Controller(
        REWARDS["rejection"](TOY), Adam(learning_rate=0.05, epsilon=1e-8), rng=3, workers=2
    )
    for _ in range(20):
        choices = controller.suggest()
        controller.update(choices, quality(choices))
    assert (strategy.controller.policy.logits == controller.policy.logits).all()


def test_finds_the_optimum_of_the_toy() -> None:
    found = []
    for seed in range(5):
        strategy = PolicyGradient(TOY, rng=seed, learning_rate=0.02)
        optimize(strategy, quality, 500)
        found.append(str(strategy.recommend()[0]))
    assert found == ["4-2"] * 5


def test_a_penalty_evaluations_at_what_is_infeasible_and_never_recommends_it() -> None:
    strategy = PolicyGradient(
        TOY, rng=0, reward="abs", reward_options={"beta": -0.1}, learning_rate=0.05
    )
    optimize(strategy, quality, 300)
    assert not TOY.contains(strategy.mean_qualities()[0]).all()
    assert str(SPACE.architecture(strategy.controller.policy.log_p.argmax(axis=1))) not in TOY
    assert all(architecture in TOY for architecture in strategy.recommend(9))


def test_infeasible_draws_cost_no_evaluation() -> None:
    strategy = PolicyGradient(
        TOY, rng=0, reward="rejection", reward_options={"sample_from": "policy"}
    )
    drawn = 0
    while strategy.n_evaluations < 50:
        choices = strategy.suggest()
        drawn += 1
        strategy.update(
            choices, np.where(strategy.needs_evaluation(choices), quality(choices), np.nan)
        )
    assert drawn > 60
    assert TOY.contains(strategy.mean_qualities()[0]).all()


def test_the_best_seen_on_request() -> None:
    strategy = PolicyGradient(TOY, rng=0, recommend_by="seen")
    strategy.update(np.array([[1, 1], [0, 2]]), np.array([0.1, 0.9]))
    assert strategy.recommend() == [Architecture((2, 4))]


def test_monte_carlo_where_the_set_is_not_exact() -> None:
    feasible = FeasibleSet(SPACE, Budget(dense_parameters=25), method="monte carlo")
    assert PolicyGradient(feasible, rng=0).controller.reward.name == "rejection_monte_carlo"


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TabNASError, match="did you mean 'rejection'"):
        PolicyGradient(TOY, rng=0, reward="rejektion")
    with pytest.raises(TabNASError, match="`recommend_by` must be"):
        PolicyGradient(TOY, rng=0, recommend_by="best")  # type: ignore[arg-type]
