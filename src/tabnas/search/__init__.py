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
from tabnas.search._divergence import SearchDivergedError
from tabnas.search._history import History, Look
from tabnas.search._policy_search import FrozenSearch, PolicySearch, Round
from tabnas.search._search import Search
from tabnas.search._selection import (
    SELECTIONS,
    best_within,
    candidate_pool,
    choose_by_loss,
    one_shot_losses,
    select,
)
from tabnas.search._settings import SearchSettings

__all__ = [
    "CHILDREN",
    "SELECTIONS",
    "Children",
    "FeasibleChildren",
    "FrozenSearch",
    "History",
    "Look",
    "PaperChildren",
    "PolicySearch",
    "Round",
    "Search",
    "SearchDivergedError",
    "SearchSettings",
    "SeveralChildren",
    "TighteningChildren",
    "additive_qualities",
    "best_within",
    "candidate_pool",
    "choose_by_loss",
    "one_shot_losses",
    "select",
]
