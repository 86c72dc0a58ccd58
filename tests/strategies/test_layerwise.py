from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabnasError
from tabnas.strategies import Layerwise, explore
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace.uniform(layers=4, widths=range(4, 36, 4), inputs=10, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=1_200))


def peak(choices: IntArray) -> FloatArray:
    return -((choices - [1.0, 4.0, 2.0, 6.0]) ** 2).sum(axis=1)


def test_begins_with_every_candidate_of_the_first_layer() -> None:
    first = Layerwise(FEASIBLE, rng=0).suggest()
    assert first[:, 0].tolist() == list(range(8))
    assert FEASIBLE.contains(first).all()


def test_completions_are_the_nearest_to_the_base() -> None:
    strategy = Layerwise(FEASIBLE, rng=0)
    members = FEASIBLE.members
    for beginning in ((0,), (5,), (3, 2), (7, 0, 1)):
        full = strategy._complete(beginning)
        assert full is not None
        assert full[: len(beginning)] == beginning
        alike = members[(members[:, : len(beginning)] == beginning).all(axis=1)]
        distance = np.abs(alike - strategy._base).sum(axis=1)
        assert np.abs(np.array(full) - strategy._base).sum() == distance.min()
    assert strategy._complete((7, 7, 7)) is None


def test_the_best_beginning_of_each_bucket_is_kept() -> None:
    strategy = Layerwise(FEASIBLE, rng=0, buckets=4, keep=1)
    first = strategy.suggest()
    quality = np.array([0.0, 5.0, 1.0, 0.0, 2.0, 3.0, 9.0, 0.0])
    strategy.update(first, quality)
    # a width of the first layer costs in proportion to it: two of eight to a bucket
    second = strategy.suggest()
    assert sorted(set(second[:, 0].tolist())) == [1, 2, 5, 6]


def test_exact_where_one_layer_does_not_depend_on_another() -> None:
    strategy = Layerwise(FEASIBLE, rng=0, buckets=8)
    explore(strategy, peak, 300)
    found = np.array([SPACE.choices(strategy.recommend()[0])])
    assert peak(found)[0] == peak(FEASIBLE.members).max()


def test_every_member_is_looked_at_before_one_is_again() -> None:
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(parameters=200))
    strategy = Layerwise(feasible, rng=0, buckets=2)
    explore(strategy, lambda choices: choices.sum(axis=1).astype(float), feasible.count())
    assert len(strategy.seen()[0]) == feasible.count()
    assert strategy.suggest().tolist() == [list(space.choices(strategy.recommend()[0]))]


def test_without_a_limit_there_is_one_bucket() -> None:
    strategy = Layerwise(FeasibleSet(SPACE, Budget()), rng=0)
    explore(strategy, peak, 60)
    assert peak(np.array([SPACE.choices(strategy.recommend()[0])]))[0] == 0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(TabnasError, match="buckets must be an integer of at least 1"):
        Layerwise(FEASIBLE, rng=0, buckets=0)
