from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, Limit, SearchSpace, TabNASError
from tabnas.space import CallableCost
from tabnas.strategies import Layerwise, optimize
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace.uniform(layers=4, widths=range(4, 36, 4), inputs=10, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=1_200))


def peak(choices: IntArray) -> FloatArray:
    return -((choices - [1.0, 4.0, 2.0, 6.0]) ** 2).sum(axis=1)


def test_the_search_starts_with_every_candidate_of_the_first_layer() -> None:
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
    optimize(strategy, peak, 300)
    found = np.array([SPACE.choices(strategy.recommend()[0])])
    assert peak(found)[0] == peak(FEASIBLE.members).max()


def test_every_member_is_evaluated_before_one_is_again() -> None:
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(parameters=200))
    strategy = Layerwise(feasible, rng=0, buckets=2)
    optimize(strategy, lambda choices: choices.sum(axis=1).astype(float), feasible.count())
    assert len(strategy.mean_qualities()[0]) == feasible.count()
    assert strategy.suggest().tolist() == [list(space.choices(strategy.recommend()[0]))]


def test_without_a_limit_there_is_one_bucket() -> None:
    strategy = Layerwise(FeasibleSet(SPACE, Budget()), rng=0)
    optimize(strategy, peak, 60)
    assert peak(np.array([SPACE.choices(strategy.recommend()[0])]))[0] == 0


# -- estimated from samples ------------------------------------------------------------------------


def sampled(limit: int, samples: int = 2_000) -> FeasibleSet:
    units = CallableCost(lambda a: sum(a.widths), name="units")
    return FeasibleSet(SPACE, Budget(Limit(units, limit)), method="monte carlo", samples=samples)


@pytest.mark.parametrize("limit", [16, 20, 28, 60])
def test_a_sampled_set_is_searched_within_the_limit(limit: int) -> None:
    """Down to the one architecture that keeps it, though the widest are far from feasible."""
    feasible = sampled(limit)
    strategy = Layerwise(feasible, rng=0)
    for _ in range(6):
        choices = strategy.suggest()
        assert feasible.contains(choices).all()
        strategy.update(choices, peak(choices))
    assert sum(strategy.recommend()[0].widths) <= limit


def test_sampled_members_and_the_base_are_found_from_each_of_their_beginnings() -> None:
    feasible = sampled(40)
    strategy = Layerwise(feasible, rng=0)
    members = feasible.sampled_members
    assert len(members) > 10
    for base in members[:10]:
        strategy._base = base
        for layers in range(1, 5):
            assert strategy._complete(tuple(base[:layers].tolist())) == tuple(base.tolist())
    assert strategy._complete((7, 7)) is None


def test_a_sampled_set_is_searched_as_well_as_a_known_one() -> None:
    found = []
    for feasible in (sampled(60), FeasibleSet(SPACE, sampled(60).budget)):
        assert feasible.is_exact == (feasible.method == "enumeration")
        strategy = Layerwise(feasible, rng=0, buckets=8)
        optimize(strategy, peak, 300)
        found.append(peak(np.array([SPACE.choices(strategy.recommend()[0])]))[0])
    assert found[0] >= found[1] - 1


def test_invalid_options_are_refused() -> None:
    with pytest.raises(TabNASError, match="buckets must be an integer of at least 1"):
        Layerwise(FEASIBLE, rng=0, buckets=0)
