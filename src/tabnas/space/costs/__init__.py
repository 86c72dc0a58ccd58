"""Costs, one file each: a class with a name in a file of this folder is one that can be limited."""

from __future__ import annotations

from collections.abc import Collection

from tabnas.errors import TabnasError
from tabnas.registries import classes_by_name
from tabnas.space._architecture import Architecture
from tabnas.space._search_space import SearchSpace
from tabnas.space.costs._bytes import Bytes
from tabnas.space.costs._cost import CallableCost, ChainCost, Cost
from tabnas.space.costs._dense_parameters import DenseParameters
from tabnas.space.costs._flops import Flops
from tabnas.space.costs._parameters import Parameters
from tabnas.space.costs._table import TableCost

COSTS: dict[str, Cost] = {
    name: cost() for name, cost in classes_by_name(__name__, Cost, first="parameters").items()
}
"""The costs that need nothing but the space, by name; one of your own goes in by assignment."""


def known_costs(
    space: SearchSpace, architecture: Architecture, *, needed: Collection[str] = ()
) -> dict[str, float]:
    """What an architecture uses of every cost that can say it, by name.

    A table of one's own need not know every layer there is. Those `needed` must say it.
    """
    costs = {}
    for name, cost in COSTS.items():
        try:
            costs[name] = cost(space, architecture)
        except TabnasError:
            if name in needed:
                raise
    return costs


__all__ = [
    "COSTS",
    "Bytes",
    "CallableCost",
    "ChainCost",
    "Cost",
    "DenseParameters",
    "Flops",
    "Parameters",
    "TableCost",
    "known_costs",
]
