"""The cheapest and the dearest architecture."""

from __future__ import annotations

import numpy as np

from tabnas.errors import InexactError
from tabnas.feasible._diagram import Diagram
from tabnas.feasible._measure import MAX_ENUMERATED, Measure
from tabnas.space import ChainCost, Cost
from tabnas.types import FloatArray, IntArray


def extreme(diagram: Diagram, measure: Measure, cost: Cost, *, sign: int) -> IntArray:
    """The choices of the path with the largest `sign * cost`; the first of several in order."""
    if isinstance(cost, ChainCost):
        gain = sign * _edge_costs(diagram, cost.tables(measure.space))
        return np.array(next(diagram.best_paths(gain)))
    if diagram.count() > MAX_ENUMERATED:
        raise InexactError(
            f"the extremes of {cost.name!r} over {diagram.count():,} architectures are unknown: "
            "it does not add up along the layers, and they are too many to look at each"
        )
    return extreme_of(np.array(sorted(diagram.paths())), measure, cost, sign=sign)


def extreme_of(choices: IntArray, measure: Measure, cost: Cost, *, sign: int) -> IntArray:
    """The one of the choices, [n, layers], with the largest `sign * cost`."""
    return np.asarray(choices[np.argmax(sign * measure.costs(cost, choices))])


def _edge_costs(diagram: Diagram, tables: list[FloatArray]) -> FloatArray:
    """What going along each edge adds to a chain cost, [edges]; nothing within a layer."""
    *tables, head = tables
    tables[-1] = tables[-1] + head[:, 0]
    layer, candidate = np.divmod(diagram.place.astype(np.int64), diagram.max_choices)
    layer[0], candidate[0] = -1, 0  # the root is before the first layer
    source = np.repeat(np.arange(diagram.nodes), np.diff(diagram.first))
    costs = np.zeros(diagram.edges)
    ends = diagram.child == diagram.nodes
    child = np.where(ends, source, diagram.child)
    for i, table in enumerate(tables):
        here = (layer[child] == i) & (layer[source] == i - 1)
        costs[here] = table[candidate[source[here]], candidate[child[here]]]
    return costs
