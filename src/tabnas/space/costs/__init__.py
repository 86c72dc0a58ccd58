"""Costs, one file each: a class with a name in a file of this folder is one that can be limited."""

from __future__ import annotations

from tabnas.registries import classes_by_name
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
]
