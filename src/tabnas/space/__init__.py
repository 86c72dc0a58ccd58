"""Search spaces, architectures, costs and budgets."""

from __future__ import annotations

from tabnas.space._architecture import Architecture
from tabnas.space._bottlenecks import BOTTLENECK_DEFINITION, bottleneck_ratio, find_bottlenecks
from tabnas.space._budget import MAX_LIMIT, Budget, Limit
from tabnas.space._default_space import default_space, scale_limits, spanning_space
from tabnas.space._numeric_embeddings import DEFAULT_DIMENSIONS, NumericEmbeddings
from tabnas.space._precision import Precision, check_precision
from tabnas.space._search_space import ABSENT, PAPER_WIDTHS, SearchSpace
from tabnas.space._widest_networks import find_widest_equal, widen_to_limits
from tabnas.space.costs import (
    COSTS,
    LATENCY_ROWS,
    Bytes,
    CallableCost,
    ChainCost,
    Cost,
    DenseParameters,
    Flops,
    Parameters,
    RamBytes,
    TableCost,
    compute_costs,
)

__all__ = [
    "ABSENT",
    "BOTTLENECK_DEFINITION",
    "COSTS",
    "DEFAULT_DIMENSIONS",
    "LATENCY_ROWS",
    "MAX_LIMIT",
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
    "NumericEmbeddings",
    "Parameters",
    "Precision",
    "RamBytes",
    "SearchSpace",
    "TableCost",
    "bottleneck_ratio",
    "check_precision",
    "compute_costs",
    "default_space",
    "find_bottlenecks",
    "find_widest_equal",
    "scale_limits",
    "spanning_space",
    "widen_to_limits",
]
