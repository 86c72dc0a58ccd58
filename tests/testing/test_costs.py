from __future__ import annotations

import pytest

from tabnas import Architecture, SearchSpace
from tabnas.space import COSTS, CallableCost, ChainCost, TableCost
from tabnas.testing import check_cost


@pytest.mark.parametrize("name", sorted(COSTS))
def test_conformance(name: str) -> None:
    check_cost(COSTS[name])


def test_conformance_of_measured_and_own_costs() -> None:
    space = SearchSpace([[2, 5], [0, 3]], inputs=7, outputs=3)
    layers = {(7, 2): 0.1, (7, 5): 0.2, (2, 3): 0.3, (5, 3): 0.7}
    heads = {(fan_in, 3): 0.01 * fan_in for fan_in in (2, 5, 3)}
    check_cost(TableCost(name="latency_us", layers=layers, heads=heads, overhead=0.9), space)
    check_cost(CallableCost(lambda a: max(a.widths, default=0), name="widest"))


class _Jumpy(ChainCost):
    """Costs more than its terms."""

    name = "jumpy"

    def layer(self, fan_in: int, width: int) -> float:
        return width

    def head(self, fan_in: int, outputs: int) -> float:
        return 1

    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        return super().__call__(space, architecture) + architecture.depth


def test_the_suite_finds_terms_that_do_not_add_up() -> None:
    with pytest.raises(AssertionError, match="must sum to it"):
        check_cost(_Jumpy())


def test_the_suite_finds_costs_that_are_not_finite() -> None:
    with pytest.raises(AssertionError, match="must be finite and at least 0"):
        check_cost(CallableCost(lambda a: float("inf"), name="endless"))
