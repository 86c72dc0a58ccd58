from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.strategies import BayesianOptimization, RandomSearch, optimize
from tabnas.strategies._batch_strategy import to_tuples
from tabnas.testing._strategies import check_recommendations
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace.uniform(layers=4, widths=range(4, 36, 4), inputs=10, outputs=1)
LISTED = FeasibleSet(SPACE, Budget(dense_parameters=1_200))
LARGE = FeasibleSet(
    SearchSpace.uniform(layers=6, widths=range(4, 36, 4), inputs=10, outputs=1),
    Budget(dense_parameters=1_200),
)


def peak(choices: IntArray) -> FloatArray:
    return -((choices - 3.0) ** 2).sum(axis=1)


@pytest.mark.parametrize("feasible", [LISTED, LARGE], ids=["listed", "large"])
def test_finds_the_peak_in_few_evaluations(feasible: FeasibleSet) -> None:
    strategy = BayesianOptimization(feasible, rng=0, initial=10)
    optimize(strategy, peak, 60)
    found = np.array([feasible.space.choices(strategy.recommend()[0])])
    assert peak(found)[0] == peak(feasible.members).max()


def test_nothing_is_evaluated_twice_while_something_is_left() -> None:
    space = SearchSpace([[2, 5, 9], [3, 4, 8, 12]], inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(dense_parameters=100))
    strategy = BayesianOptimization(feasible, rng=0, initial=2, batch=2)
    optimize(strategy, peak, feasible.count())
    assert len(strategy.mean_qualities()[0]) == feasible.count()
    assert to_tuples(strategy.suggest()) == [space.choices(strategy.recommend()[0])]


def test_initial_evaluations_are_drawn_and_then_it_goes_by_batches() -> None:
    strategy = BayesianOptimization(LISTED, rng=0, initial=12, batch=3)
    first = strategy.suggest()
    assert len(first) == 12
    strategy.update(first, peak(first))
    assert len(strategy.suggest()) == 3


def test_numbers_are_found_by_likelihood() -> None:
    def fitted(noise: float, wave: float) -> tuple[float, float]:
        rng = np.random.default_rng(0)
        strategy = BayesianOptimization(LISTED, rng=0, initial=150)
        optimize(
            strategy,
            lambda c: np.sin(wave * c.sum(axis=1)) + noise * rng.normal(size=len(c)),
            150,
        )
        strategy.suggest()
        assert strategy._process is not None
        return strategy._process.length_scale, strategy._process.noise

    smooth, rough, noisy = fitted(0.0, 0.1), fitted(0.0, 0.8), fitted(2.0, 0.1)
    assert smooth[0] > rough[0]
    assert noisy[1] > smooth[1]


def test_numbers_that_are_given_are_kept() -> None:
    strategy = BayesianOptimization(LISTED, rng=0, length_scale=0.7, noise=0.3)
    optimize(strategy, peak, 60)
    assert strategy._process is not None
    assert (strategy._process.length_scale, strategy._process.noise) == (0.7, 0.3)


def test_the_model_is_misled_less_by_noise() -> None:
    def true_quality(recommend_by: str) -> float:
        found = []
        for seed in range(4):
            noise = np.random.default_rng(seed)
            strategy = BayesianOptimization(LISTED, rng=seed, recommend_by=recommend_by)  # type: ignore[arg-type]
            optimize(strategy, lambda c: peak(c) + 10 * noise.normal(size=len(c)), 60)  # noqa: B023
            found.append(LISTED.space.choices(strategy.recommend()[0]))
        return float(peak(np.array(found)).mean())

    assert true_quality("model") > true_quality("seen")


def test_the_model_recommends_as_it_should() -> None:
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(parameters=300, flops=350))
    check_recommendations(
        lambda feasible, seed: BayesianOptimization(feasible, rng=seed, recommend_by="model"),
        feasible,
    )


def test_evaluations_of_others_are_learned_from() -> None:
    strategy = BayesianOptimization(LISTED, rng=0, initial=20)
    other = RandomSearch(LISTED, rng=1)
    optimize(other, peak, 20)
    strategy.update(*other.mean_qualities())
    assert len(strategy.suggest()) == strategy.batch


def test_invalid_options_are_refused() -> None:
    with pytest.raises(TabNASError, match="`length_scale` must be positive or None"):
        BayesianOptimization(LISTED, rng=0, length_scale=0.0)
    with pytest.raises(TabNASError, match="`noise` must be at least 1e-06 or None"):
        BayesianOptimization(LISTED, rng=0, noise=0.0)
    with pytest.raises(TabNASError, match="`recommend_by` must be 'seen' or 'model'"):
        BayesianOptimization(LISTED, rng=0, recommend_by="best")  # type: ignore[arg-type]
