"""Counts and marginals stay exact where layers have thousands of candidates and costs are huge."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, Limit, SearchSpace
from tabnas.feasible import _chain
from tabnas.space import ChainCost

MANY = 4_200
"""Candidates whose index times a limit near 2^52 exceeds int64."""


class _Huge(ChainCost):
    """Terms of up to 2^50 that follow no pattern."""

    name = "huge"

    def layer(self, fan_in: int, width: int) -> int:
        return (fan_in * 0x9E3779B97F4A7C15 + width * 0xD1B54A32D192ED03) % 2**50 + width

    def head(self, fan_in: int, outputs: int) -> int:
        return self.layer(fan_in, 7 * outputs)


COST = _Huge()
LIMIT = 5 * 2**49 + 12_345


def paths_to_go(space: SearchSpace, limit: int) -> Callable[[int, int], int]:
    """Count the ways to go on from a width of the second of three layers, in Python's integers."""
    middle, last = space.widths[1], space.widths[2]
    ends = {
        width: sorted(COST.layer(width, end) + COST.head(end, space.outputs) for end in last)
        for width in middle
    }
    return lambda width, spent: bisect_right(ends[width], limit - spent)


def shares_of_first_layer(space: SearchSpace, limit: int) -> list[int]:
    """Return how many feasible architectures begin with each candidate of three layers."""
    ways = paths_to_go(space, limit)
    return [
        sum(
            ways(width, COST.layer(space.inputs, first) + COST.layer(first, width))
            for width in space.widths[1]
        )
        for first in space.widths[0]
    ]


@pytest.mark.parametrize(
    "sizes",
    [(MANY, 4, 30), (30, 4, MANY), (4, MANY, 30), (MANY, 2, MANY)],
    ids=["first", "last", "middle", "both ends"],
)
def test_counts_are_exact_wherever_the_large_layer_is(sizes: tuple[int, ...]) -> None:
    space = SearchSpace([range(3, 3 + size) for size in sizes], inputs=5, outputs=1)
    feasible = FeasibleSet(space, Budget(Limit(COST, LIMIT)), method="chain")
    truth = shares_of_first_layer(space, LIMIT)
    assert 0 < sum(truth) < space.size
    assert feasible.count() == sum(truth)
    share = feasible.marginals()[0, : sizes[0]]
    assert share == pytest.approx(np.array(truth) / sum(truth), abs=1e-12)
    members = feasible.sample(20, rng=0)
    assert all(COST(space, member) <= LIMIT for member in members)


def test_the_diagram_is_the_same_as_with_small_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks in place of costs change nothing but the numbers that are sorted."""
    space = SearchSpace([range(2, 14)] * 5, inputs=5, outputs=1)
    budget = Budget(parameters=500)
    usual = FeasibleSet(space, budget, method="chain")._require_diagram()

    class _Ranked(_chain._PairCode):
        def __init__(self, candidates: int, costs: np.ndarray, *, limit: int) -> None:
            super().__init__(sys.maxsize, costs, limit=limit)

    monkeypatch.setattr(_chain, "_PairCode", _Ranked)
    ranked = FeasibleSet(space, budget, method="chain")._require_diagram()
    for name in ("first", "child", "choice", "location"):
        assert (getattr(ranked, name) == getattr(usual, name)).all()


def test_forbidden_transitions_of_the_deepest_space_do_not_add_up_to_less() -> None:
    """A thousand layers, every other one absent: no architecture, but large the limit is."""
    space = SearchSpace([[0, 3]] * 1_000, inputs=3, outputs=1)
    term = 2**52 // 1_002
    feasible = FeasibleSet(space, Budget(Limit(_Constant(term), 1_000 * term)))
    assert feasible.count() == 1_000  # all depths but the last, which costs 1,001 terms
    alternating = np.tile([1, 0], 500)
    assert not feasible.contains(alternating)
    assert not feasible.contains(1 - alternating)


class _Constant(ChainCost):
    """The same for every layer and the output."""

    name = "constant"

    def __init__(self, term: int) -> None:
        self.term = term

    def layer(self, fan_in: int, width: int) -> int:
        return self.term

    def head(self, fan_in: int, outputs: int) -> int:
        return self.term


def test_a_limit_beyond_all_floats_when_scaled_is_no_limit() -> None:
    space = SearchSpace([[2, 3], [2, 3]], inputs=2, outputs=1)
    feasible = FeasibleSet(space, Budget(Limit(_Halves(), sys.float_info.max)))
    assert feasible.count() == 4


class _Halves(_Constant):
    name = "halves"

    def __init__(self) -> None:
        super().__init__(1)

    def layer(self, fan_in: int, width: int) -> float:
        return width / 2
