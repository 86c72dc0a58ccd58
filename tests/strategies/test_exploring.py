from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabnasError
from tabnas.strategies import (
    Evolution,
    PolicyGradient,
    RandomSearch,
    StuckError,
    _exploring,
    explore,
    recommended_after,
)
from tabnas.types import BoolArray, FloatArray, IntArray

SPACE = SearchSpace.uniform(layers=3, widths=(4, 8, 12, 16), inputs=5, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=300))


def widest(choices: IntArray) -> FloatArray:
    return choices.sum(axis=1).astype(float)


def test_looks_are_not_exceeded_within_a_batch() -> None:
    asked: list[int] = []

    def counting(choices: IntArray) -> FloatArray:
        asked.append(len(choices))
        return widest(choices)

    strategy = PolicyGradient(FEASIBLE, rng=0, workers=4)
    explore(strategy, counting, 10)
    assert asked == [4, 4, 2]
    assert strategy.looks == 10


def test_stops_on_the_way_do_not_change_the_end() -> None:
    stopped, straight = (Evolution(FEASIBLE, rng=1, population=8, top=3) for _ in range(2))
    answers = recommended_after(stopped, widest, [30, 3, 11])
    explore(straight, widest, 30)
    assert len(answers) == 3
    assert answers[-1] == straight.recommend()
    assert (np.array(stopped.seen()[0]) == straight.seen()[0]).all()


class _Blind(RandomSearch):
    """Nothing of what it suggests counts."""

    name = "blind"

    def counts(self, choices: IntArray) -> BoolArray:
        return np.zeros(len(choices), dtype=np.bool_)


def test_whoever_suggests_nothing_that_counts_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exploring, "FRUITLESS", 100)
    with pytest.raises(StuckError, match="'blind' suggested 100 architectures in a row"):
        explore(_Blind(FEASIBLE, rng=0), widest, 1)


def test_looks_must_be_a_number_of_looks() -> None:
    with pytest.raises(TabnasError, match="looks must be an integer of at least 1"):
        explore(RandomSearch(FEASIBLE, rng=0), widest, 0)
