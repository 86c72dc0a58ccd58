"""The best neural network for a table inside a hard resource limit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tabnas.errors import InexactError, InexactWarning, InfeasibleError, TabNASError

if TYPE_CHECKING:
    from tabnas.estimators import TabNASClassifier, TabNASRegressor
    from tabnas.export import export_c, export_onnx
    from tabnas.feasible import FeasibleSet
    from tabnas.model import Model, load_model
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
    "Model",
    "SearchSpace",
    "TabNASClassifier",
    "TabNASError",
    "TabNASRegressor",
    "__version__",
    "export_c",
    "export_onnx",
    "load_model",
]

LAZY = {  # NumPy, Arrow and scikit-learn take their time to import, and few programs need all
    "Architecture": "tabnas.space",
    "Budget": "tabnas.space",
    "FeasibleSet": "tabnas.feasible",
    "Limit": "tabnas.space",
    "Model": "tabnas.model",
    "PAPER_WIDTHS": "tabnas.space",
    "SearchSpace": "tabnas.space",
    "TabNASClassifier": "tabnas.estimators",
    "TabNASRegressor": "tabnas.estimators",
    "export_c": "tabnas.export",
    "export_onnx": "tabnas.export",
    "load_model": "tabnas.model",
}


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return getattr(import_module(LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
