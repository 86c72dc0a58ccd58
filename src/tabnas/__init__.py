"""The best neural network for a table inside a hard resource limit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tabnas.errors import InexactError, InexactWarning, InfeasibleError, TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.space import PAPER_WIDTHS, Architecture, Budget, Limit, SearchSpace

if TYPE_CHECKING:
    from tabnas.estimators import TabNASClassifier, TabNASRegressor
    from tabnas.export import export_c, export_onnx
    from tabnas.model import Model, load_model

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

LAZY = {  # scikit-learn and Arrow take their time to import, and counting needs neither
    "Model": "tabnas.model",
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
