from __future__ import annotations

import numpy as np

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.strategies import RandomSearch, optimize


def test_every_member_is_sampled_with_equal_probability() -> None:
    space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=25))
    strategy = RandomSearch(feasible, rng=0)
    optimize(strategy, lambda choices: np.zeros(len(choices)), 3_000)
    members, repeats = np.unique(strategy._choices, axis=0, return_counts=True)
    assert (members == feasible.members).all()
    expected = 3_000 / feasible.count()
    assert (np.abs(repeats - expected) < 5 * np.sqrt(expected)).all()
