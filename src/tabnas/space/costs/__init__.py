"""Costs, one file each. `COSTS` lists those that can be limited by name."""

from __future__ import annotations

from collections.abc import Collection

from tabnas.errors import TabNASError
from tabnas.registries import by_name
from tabnas.space._architecture import Architecture
from tabnas.space._precision import Precision
from tabnas.space._search_space import SearchSpace
from tabnas.space.costs._bytes import Bytes
from tabnas.space.costs._cost import CallableCost, ChainCost, Cost
from tabnas.space.costs._dense_parameters import DenseParameters
from tabnas.space.costs._flops import Flops
from tabnas.space.costs._parameters import Parameters
from tabnas.space.costs._ram_bytes import RamBytes
from tabnas.space.costs._table import TableCost

LATENCY_ROWS = {"latency_us": 1, "batch_latency_us": 256}
"""The rows of a call, by the names of the costs that are measured (`tabnas.latency`)."""
COSTS: dict[str, Cost] = by_name(Parameters(), Bytes(), DenseParameters(), Flops(), RamBytes())
"""Every cost that needs only the space, by name. Add your own by assignment."""


def compute_costs(
    space: SearchSpace,
    architecture: Architecture,
    *,
    precision: Precision = Precision.FLOAT32,
    required: Collection[str] = (),
) -> dict[str, float]:
    """Return the value of every cost that can be computed for an architecture, by name.

    A custom cost may lack entries for some layers; it is then left out, unless it is one of the
    `required`, for which the error is raised.
    """
    costs = {}
    for name, cost in COSTS.items():
        try:
            costs[name] = cost.at_precision(precision)(space, architecture)
        except (TabNASError, LookupError):
            if name in required:
                raise
    return costs


__all__ = [
    "COSTS",
    "LATENCY_ROWS",
    "Bytes",
    "CallableCost",
    "ChainCost",
    "Cost",
    "DenseParameters",
    "Flops",
    "Parameters",
    "RamBytes",
    "TableCost",
    "compute_costs",
]
