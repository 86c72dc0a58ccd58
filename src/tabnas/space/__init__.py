"""Search spaces, architectures, costs and budgets."""

from __future__ import annotations

from tabnas.space._architecture import Architecture
from tabnas.space._bottlenecks import BOTTLENECK, bottlenecks, narrowing
from tabnas.space._budget import Budget, Limit
from tabnas.space._default_space import default_space, relax, spanning_space
from tabnas.space._search_space import ABSENT, PAPER_WIDTHS, SearchSpace
from tabnas.space.costs import (
    COSTS,
    Bytes,
    CallableCost,
    ChainCost,
    Cost,
    DenseParameters,
    Flops,
    Parameters,
    TableCost,
    known_costs,
)

__all__ = [
    "ABSENT",
    "BOTTLENECK",
    "COSTS",
    "PAPER_WIDTHS",
    "Architecture",
    "Budget",
    "Bytes",
    "CallableCost",
    "ChainCost",
    "Cost",
    "DenseParameters",
    "Flops",
    "Limit",
    "Parameters",
    "SearchSpace",
    "TableCost",
    "bottlenecks",
    "default_space",
    "known_costs",
    "narrowing",
    "relax",
    "spanning_space",
]
