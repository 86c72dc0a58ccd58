"""The cheapest and the most expensive architecture."""

from __future__ import annotations

import numpy as np

from tabnas.errors import InexactError
from tabnas.feasible._cost_calculator import MAX_ENUMERATED, CostCalculator
from tabnas.feasible._diagram import DecisionDiagram
from tabnas.space import ChainCost, Cost
from tabnas.types import FloatArray, IntArray


def find_extreme(
    diagram: DecisionDiagram, calculator: CostCalculator, cost: Cost, *, sign: int
) -> IntArray:
    """Return the choices of the path with the largest `sign * cost`; of equals, the first one."""
    if isinstance(cost, ChainCost):
        gain = sign * _edge_costs(diagram, cost.tables(calculator.space))
        return np.array(next(diagram.best_paths(gain)))
    if diagram.count() > MAX_ENUMERATED:
        raise InexactError(
            f"the extremes of {cost.name!r} over {diagram.count():,} architectures are unknown: "
            "it is not a sum over layers, and the architectures are too many to enumerate"
        )
    return select_extreme(np.array(sorted(diagram.paths())), calculator, cost, sign=sign)


def select_extreme(
    choices: IntArray, calculator: CostCalculator, cost: Cost, *, sign: int
) -> IntArray:
    """Return the one of the choices, [n, layers], with the largest `sign * cost`."""
    return np.asarray(choices[np.argmax(sign * calculator.costs(cost, choices))])


def _edge_costs(diagram: DecisionDiagram, tables: list[FloatArray]) -> FloatArray:
    """Return what each edge adds to a chain cost, [edges]; 0 for edges within a layer."""
    *tables, head = tables
    tables[-1] = tables[-1] + head[:, 0]
    layer, candidate = np.divmod(diagram.location.astype(np.int64), diagram.max_choices)
    layer[0], candidate[0] = -1, 0  # the root is before the first layer
    source = np.repeat(np.arange(diagram.nodes), np.diff(diagram.first))
    costs = np.zeros(diagram.edges)
    ends = diagram.child == diagram.nodes
    child = np.where(ends, source, diagram.child)
    for i, table in enumerate(tables):
        here = (layer[child] == i) & (layer[source] == i - 1)
        costs[here] = table[candidate[source[here]], candidate[child[here]]]
    return costs
