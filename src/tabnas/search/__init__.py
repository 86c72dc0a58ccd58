"""The search: SuperNet and policy, trained in turn."""

from __future__ import annotations

from tabnas.search._children import (
    CHILDREN,
    Children,
    FeasibleChildren,
    PaperChildren,
    TighteningChildren,
)
from tabnas.search._search import Look, Search
from tabnas.search._settings import SearchSettings

__all__ = [
    "CHILDREN",
    "Children",
    "FeasibleChildren",
    "Look",
    "PaperChildren",
    "Search",
    "SearchSettings",
    "TighteningChildren",
]
