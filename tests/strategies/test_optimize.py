from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.strategies import (
    Evolution,
    Guided,
    PolicyGradient,
    RandomSearch,
    Strategy,
    StuckError,
    _optimize,
    optimize,
    recommend_at,
)
from tabnas.types import BoolArray, FloatArray, IntArray

SPACE = SearchSpace.uniform(layers=3, widths=(4, 8, 12, 16), inputs=5, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=300))


def widest(choices: IntArray) -> FloatArray:
    return choices.sum(axis=1).astype(float)


def test_evaluations_are_not_exceeded_within_a_batch() -> None:
    asked: list[int] = []

    def counting(choices: IntArray) -> FloatArray:
        asked.append(len(choices))
        return widest(choices)

    strategy = PolicyGradient(FEASIBLE, rng=0, workers=4)
    optimize(strategy, counting, 10)
    assert asked == [4, 4, 2]
    assert strategy.n_evaluations == 10


def test_stops_on_the_way_do_not_change_the_end() -> None:
    stopped, straight = (Evolution(FEASIBLE, rng=1, population=8, top=3) for _ in range(2))
    answers = recommend_at(stopped, widest, [30, 3, 11])
    optimize(straight, widest, 30)
    assert len(answers) == 3
    assert answers[-1] == straight.recommend()
    assert (np.array(stopped.mean_qualities()[0]) == straight.mean_qualities()[0]).all()


class _Blind(RandomSearch):
    """Nothing of what it suggests counts."""

    name = "blind"

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return np.zeros(len(choices), dtype=np.bool_)


def test_a_strategy_that_needs_no_evaluation_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_optimize, "MAX_WITHOUT_EVALUATION", 100)
    with pytest.raises(StuckError, match="'blind' suggested 100 infeasible architectures in a row"):
        optimize(_Blind(FEASIBLE, rng=0), widest, 1)


def test_the_number_of_evaluations_must_be_positive() -> None:
    with pytest.raises(TabNASError, match="n_evaluations must be an integer of at least 1"):
        optimize(RandomSearch(FEASIBLE, rng=0), widest, 0)


@pytest.mark.parametrize("strategy", [Evolution, Guided])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_qualities_that_are_not_finite_are_refused(strategy: type[Strategy], wrong: float) -> None:
    def diverging(choices: IntArray) -> FloatArray:
        return np.where(choices[:, 0] == 1, wrong, widest(choices))

    with pytest.raises(TabNASError, match=r"must be finite, but that of 8-.* is not"):
        optimize(strategy(FEASIBLE, rng=0), diverging, 30)
