from __future__ import annotations

import numpy as np
import pytest

from tabnas import Architecture, Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.strategies import STRATEGIES, RandomSearch

SPACE = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
TOY = FeasibleSet(SPACE, Budget(dense_parameters=25))


def test_names_are_those_of_the_registry() -> None:
    for name, strategy in STRATEGIES.items():
        assert strategy.name == name


def test_recommends_by_the_mean_of_the_evaluations() -> None:
    strategy = RandomSearch(TOY, rng=0)
    strategy.update(np.array([[0, 0], [1, 0], [0, 0]]), np.array([5.0, 3.0, -1.0]))
    assert strategy.recommend(2) == [Architecture((3, 2)), Architecture((2, 2))]
    assert strategy.n_evaluations == 3


def test_infeasible_architectures_are_never_recommended() -> None:
    strategy = RandomSearch(TOY, rng=0)
    strategy.update(np.array([[2, 2], [0, 1]]), np.array([9.0, 0.0]))
    assert strategy.recommend(5) == [Architecture((2, 3))]


def test_without_evaluations_nothing_is_recommended() -> None:
    assert RandomSearch(TOY, rng=0).recommend() == []


def test_other_shapes_are_refused() -> None:
    with pytest.raises(TabNASError, match=r"`choices` must have the shape \(1, 2\)"):
        RandomSearch(TOY, rng=0).update(np.array([[0, 0, 0]]), np.array([1.0]))


def test_at_least_one_must_be_asked_for() -> None:
    for name, strategy in STRATEGIES.items():
        if name == "tpe":
            continue  # needs an extra
        with pytest.raises(TabNASError, match="n must be an integer of at least 1"):
            strategy(TOY, rng=0).recommend(0)


@pytest.mark.parametrize("choices", [[1, -1], [3, 0], [0.5, 0.5], [2**40, 0]])
def test_choices_that_are_no_indices_are_refused(choices: list[float]) -> None:
    """-1 would be the widest layer, whose cost is not that of any other index."""
    with pytest.raises(TabNASError, match="`choices` must be indices of candidates"):
        RandomSearch(TOY, rng=0).update(np.array([choices]), np.array([1.0]))
