from __future__ import annotations

import numpy as np

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.strategies import BatchStrategy
from tabnas.types import IntArray

SPACE = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)


class _Fixed(BatchStrategy):
    name = "fixed"
    plans = 0

    def plan(self) -> IntArray:
        self.plans += 1
        return np.array([[0, 0], [1, 0], [0, 0], [0, 1]])


def test_suggestions_without_an_evaluation_are_repeated() -> None:
    strategy = _Fixed(FeasibleSet(SPACE, Budget(dense_parameters=25)), rng=0)
    assert strategy.suggest().tolist() == strategy.suggest().tolist()
    strategy.update(strategy.suggest(), np.array([1.0, np.nan, np.nan, 2.0]))
    assert strategy.suggest().tolist() == [[1, 0], [0, 0]]
    strategy.update(np.array([[2, 2]]), np.array([1.0]))  # of someone else's choosing
    assert strategy.suggest().tolist() == [[1, 0], [0, 0]]
    assert strategy.plans == 1
    strategy.update(strategy.suggest(), np.array([1.0, 1.0]))
    assert len(strategy.suggest()) == 4
    assert strategy.plans == 2


def test_suggestions_are_copies() -> None:
    strategy = _Fixed(FeasibleSet(SPACE, Budget(dense_parameters=25)), rng=0)
    strategy.suggest()[:] = 9
    assert strategy.suggest().max() == 1


def test_repeats_of_a_plan_are_evaluated_as_often_as_planned() -> None:
    strategy = _Fixed(FeasibleSet(SPACE, Budget(dense_parameters=25)), rng=0)
    strategy.suggest()
    strategy.update(np.array([[1, 0]]), np.array([1.0]))
    assert strategy.suggest().tolist() == [[0, 0], [0, 0], [0, 1]]
    strategy.update(np.array([[0, 0]]), np.array([1.0]))
    assert strategy.suggest().tolist() == [[0, 0], [0, 1]]
