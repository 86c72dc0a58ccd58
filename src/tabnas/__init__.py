"""The best neural network for a table inside a hard resource limit."""

from __future__ import annotations

from tabnas.errors import InexactError, InexactWarning, InfeasibleError, TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.space import PAPER_WIDTHS, Architecture, Budget, Limit, SearchSpace

__version__ = "0.1.0"

__all__ = [
    "PAPER_WIDTHS",
    "Architecture",
    "Budget",
    "FeasibleSet",
    "InexactError",
    "InexactWarning",
    "InfeasibleError",
    "Limit",
    "SearchSpace",
    "TabnasError",
    "__version__",
]
