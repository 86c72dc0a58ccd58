"""Costs, one file each. A new chain cost is one subclass and one line here."""

from __future__ import annotations

from tabnas.space.costs._bytes import Bytes
from tabnas.space.costs._cost import CallableCost, ChainCost, Cost
from tabnas.space.costs._dense_parameters import DenseParameters
from tabnas.space.costs._flops import Flops
from tabnas.space.costs._parameters import Parameters
from tabnas.space.costs._table import TableCost

COSTS: dict[str, Cost] = {
    cost.name: cost for cost in (Parameters(), DenseParameters(), Flops(), Bytes())
}
"""The costs that need nothing but the space, by name."""

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
