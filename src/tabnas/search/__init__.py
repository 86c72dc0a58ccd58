"""The search: SuperNet and policy, trained in turn."""

from __future__ import annotations

from tabnas.search._additive_model import fit_additive_model
from tabnas.search._child_samplers import (
    CHILD_SAMPLERS,
    ChildSampler,
    FeasibleSampler,
    PaperSampler,
    SeveralLimitsSampler,
    TighteningSampler,
)
from tabnas.search._history import Evaluation, History
from tabnas.search._policy_search import FixedWeightsSearch, PolicySearch, StepRecord
from tabnas.search._search import Search, SearchDivergedError
from tabnas.search._selection import (
    MIN_COST_RATIO,
    SELECTIONS,
    build_candidate_pool,
    compute_one_shot_losses,
    select,
    select_best_within,
    select_by_loss,
)
from tabnas.search._settings import SearchSettings

__all__ = [
    "CHILD_SAMPLERS",
    "MIN_COST_RATIO",
    "SELECTIONS",
    "ChildSampler",
    "Evaluation",
    "FeasibleSampler",
    "FixedWeightsSearch",
    "History",
    "PaperSampler",
    "PolicySearch",
    "Search",
    "SearchDivergedError",
    "SearchSettings",
    "SeveralLimitsSampler",
    "StepRecord",
    "TighteningSampler",
    "build_candidate_pool",
    "compute_one_shot_losses",
    "fit_additive_model",
    "select",
    "select_best_within",
    "select_by_loss",
]
