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
    """Return the choices of the path with the largest `sign * cost`; of equals, the first one.

    Many paths may have the same maximum over layers. Then their other layers decide.
    """
    if isinstance(cost, ChainCost):
        costs = _edge_costs(diagram, cost, cost.tables(calculator.space))
        gain = sign * costs if cost.reduction == "sum" else _gain_of_maxima(diagram, costs, sign)
        return np.array(next(diagram.best_paths(gain)))
    if diagram.count() > MAX_ENUMERATED:
        raise InexactError(
            f"the extremes of {cost.name!r} over {diagram.count():,} architectures are unknown: "
            "it is not a ChainCost, and the architectures are too many to enumerate"
        )
    return select_extreme(np.array(sorted(diagram.paths())), calculator, cost, sign=sign)


def select_extreme(
    choices: IntArray, calculator: CostCalculator, cost: Cost, *, sign: int
) -> IntArray:
    """Return the one of the choices, [n, layers], with the largest `sign * cost`."""
    return np.asarray(choices[np.argmax(sign * calculator.costs(cost, choices))])


def _gain_of_maxima(diagram: DecisionDiagram, costs: FloatArray, sign: int) -> FloatArray:
    """Return gains of edges, [edges], whose best path has the extreme maximum of `costs`.

    Of the paths with the lowest maximum, the best one has the smallest sum of costs. Of those with
    the highest, it reaches the maximum most often; then the sum decides.
    """
    from tabnas.feasible import _kernels

    extreme = sign * _kernels.best_maxima(diagram.first, diagram.child, costs, sign)[0]
    if sign < 0:
        return np.where(costs <= extreme, -costs, -np.inf)
    # one edge at the maximum outweighs all edges below it together
    return np.where(costs == extreme, (diagram.layers + 1) * costs, costs)


def _edge_costs(diagram: DecisionDiagram, cost: ChainCost, tables: list[FloatArray]) -> FloatArray:
    """Return the term of a chain cost on each edge, [edges]; 0 for edges within a layer."""
    *tables, head = tables
    tables[-1] = cost.combine(tables[-1], head[:, 0])
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
