from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.strategies import Evolution, optimize
from tabnas.strategies._batch_strategy import to_tuples
from tabnas.types import FloatArray, IntArray
from tests.problems import problems

SPACE = SearchSpace.uniform(layers=4, widths=range(4, 36, 4), inputs=10, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=1_200))


def narrow(choices: IntArray) -> FloatArray:
    return -choices.sum(axis=1).astype(float)


def test_parents_are_the_best_seen_over_all_generations() -> None:
    strategy = Evolution(FEASIBLE, rng=0, population=10, top=4)
    optimize(strategy, narrow, 60)
    _, quality = strategy.mean_qualities()
    kept = narrow(strategy.select_parents())
    assert len(kept) == 4
    assert kept.tolist() == sorted(quality, reverse=True)[:4]


def test_half_of_a_generation_takes_every_layer_from_a_parent() -> None:
    strategy = Evolution(FEASIBLE, rng=0, population=20, top=5)
    optimize(strategy, narrow, 20)
    parents = strategy.select_parents()
    children = strategy.suggest()
    assert len(children) == 20
    of_a_parent = (children[:, None] == parents).any(axis=1).all(axis=1)
    assert of_a_parent[:10].all()
    nearest = (children[:, None] != parents).sum(axis=2).min(axis=1)
    assert (nearest[10:] >= 1).all()  # mutated, not copied


def test_one_mutation_differs_in_about_the_share_asked_for() -> None:
    strategy = Evolution(FEASIBLE, rng=0, mutation=0.5)
    parents = np.full((1, 4), 3)
    changed = (strategy._mutate(parents, 4_000) != parents).mean()
    assert abs(changed - 0.5 * 7 / 8) < 0.02  # one of eight draws is what was there


@settings(max_examples=40)
@given(problems(), st.integers(2, 12), st.integers(1, 20))
def test_all_of_it_is_feasible_and_new(
    problem: tuple[SearchSpace, Budget], population: int, top: int
) -> None:
    feasible = FeasibleSet(*problem)
    strategy = Evolution(feasible, rng=0, population=population, top=top)
    seen: set[tuple[int, ...]] = set()
    for _ in range(4):
        choices = strategy.suggest()
        assert feasible.contains(choices).all()
        if len(seen) < feasible.count():
            assert not seen & set(to_tuples(choices))
            assert len(choices) == min(population, feasible.count() - len(seen))
        seen |= set(to_tuples(choices))
        strategy.update(choices, narrow(choices))


def test_invalid_options_are_refused() -> None:
    with pytest.raises(TabNASError, match="`mutation` must be in"):
        Evolution(FEASIBLE, rng=0, mutation=0.0)
    with pytest.raises(TabNASError, match="population must be an integer of at least 2"):
        Evolution(FEASIBLE, rng=0, population=1)
