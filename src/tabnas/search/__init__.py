"""The search: SuperNet and policy, trained in turn."""

from __future__ import annotations

from tabnas.search._additive import additive_qualities
from tabnas.search._children import (
    CHILDREN,
    Children,
    FeasibleChildren,
    PaperChildren,
    SeveralChildren,
    TighteningChildren,
)
from tabnas.search._history import History, Look
from tabnas.search._search import Round, Search
from tabnas.search._selection import (
    SELECTIONS,
    best_within,
    candidate_pool,
    one_shot_losses,
    select,
)
from tabnas.search._settings import SearchSettings

__all__ = [
    "CHILDREN",
    "SELECTIONS",
    "Children",
    "FeasibleChildren",
    "History",
    "Look",
    "PaperChildren",
    "Round",
    "Search",
    "SearchSettings",
    "SeveralChildren",
    "TighteningChildren",
    "additive_qualities",
    "best_within",
    "candidate_pool",
    "one_shot_losses",
    "select",
]
