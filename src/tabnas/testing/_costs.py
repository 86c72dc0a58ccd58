"""The conformance suite of costs."""

from __future__ import annotations

from math import inf, isclose

from tabnas.feasible import FeasibleSet
from tabnas.space import (
    Architecture,
    Budget,
    ChainCost,
    Cost,
    Limit,
    NumericEmbeddings,
    SearchSpace,
)


def check_cost(cost: Cost, space: SearchSpace | None = None) -> None:
    """Raise AssertionError unless the cost meets the contract of `tabnas.space.Cost`.

    `space` is a small space that the cost is defined for, if it is not defined for all. By default
    one without and one with numeric embeddings are checked.

    >>> from tabnas.space import Flops
    >>> check_cost(Flops())
    """
    assert isinstance(cost.name, str), "a cost must have a name"
    if space is not None:
        _check_space(cost, space)
        return
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 1, 3))
    for numeric_embeddings in (None, embeddings):
        space = SearchSpace(
            [[0, 2, 5], [0, 3, 8], [0, 4]],
            inputs=7,
            outputs=3,
            numeric_embeddings=numeric_embeddings,
        )
        _check_space(cost, space)


def _check_space(cost: Cost, space: SearchSpace) -> None:
    architectures = list(FeasibleSet(space, Budget()))
    costs = {architecture: cost(space, architecture) for architecture in architectures}
    for architecture, value in costs.items():
        assert 0 <= value < inf, f"the cost of {architecture} must be finite and at least 0"
        assert value == cost(space, architecture), f"{architecture} must cost the same every time"
    if isinstance(cost, ChainCost):
        _check_tables(cost, space, costs)
    for limit in sorted(set(costs.values())):
        feasible = FeasibleSet(space, Budget(Limit(cost, limit)))
        expected = sum(value <= limit for value in costs.values())
        assert feasible.count() == expected, f"{expected} architectures must meet {limit}"
        assert costs[feasible.most_expensive()] <= limit, "nothing over the limit may be feasible"


def _check_tables(cost: ChainCost, space: SearchSpace, costs: dict[Architecture, float]) -> None:
    *tables, head = cost.tables(space)
    for architecture, value in costs.items():
        terms, before = [], 0
        for table, choice in zip(tables, space.choices(architecture), strict=True):
            terms.append(float(table[before, choice]))
            before = choice
        terms.append(float(head[before, 0]))
        reduced = sum(terms) if cost.reduction == "sum" else max(terms)
        must = "sum to it" if cost.reduction == "sum" else "have it as their maximum"
        assert isclose(reduced, value, rel_tol=1e-12), f"the terms of {architecture} must {must}"
