from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.strategies._batch_strategy import to_tuples
from tabnas.strategies._candidate_pool import is_enumerable, sample_unseen
from tests.problems import problems


@settings(max_examples=40)
@given(problems(), st.integers(0, 30), st.data())
def test_unseen_members(problem: tuple[SearchSpace, Budget], n: int, data: st.DataObject) -> None:
    feasible = FeasibleSet(*problem)
    members = to_tuples(feasible.members)
    taken = data.draw(st.sets(st.sampled_from(members)))
    drawn = to_tuples(sample_unseen(feasible, n, taken, np.random.default_rng(0)))
    assert len(set(drawn)) == len(drawn) == min(n, len(members) - len(taken))
    assert set(drawn) <= set(members) - taken


def test_of_a_set_that_is_not_listed_there_may_be_fewer() -> None:
    space = SearchSpace([[1, 2], [1, 2]], inputs=1, outputs=1)
    feasible = FeasibleSet(space, Budget(), method="monte carlo")
    assert not is_enumerable(feasible)
    taken = {(0, 0), (0, 1), (1, 0)}
    assert to_tuples(sample_unseen(feasible, 2, taken, np.random.default_rng(0))) == [(1, 1)]


def test_members_are_those_that_are_counted() -> None:
    space = SearchSpace([[2, 5], [0, 3]], inputs=7, outputs=3)
    feasible = FeasibleSet(space, Budget(parameters=50))
    assert len(feasible.members) == feasible.count()
    assert feasible.contains(feasible.members).all()
    assert {space.architecture(row) for row in feasible.members} == set(feasible)


def test_members_of_a_single_layer() -> None:
    space = SearchSpace([[2, 5, 7]], inputs=7, outputs=3)
    feasible = FeasibleSet(space, Budget())
    assert feasible.members.tolist() == [[0], [1], [2]]
