"""Strategies that look for a good architecture: ours, the paper's baselines, what others use.

One file each: a subclass of `Strategy` with a name in a file of this folder is one of them.
"""

from __future__ import annotations

from tabnas.registries import classes_by_name
from tabnas.strategies._batches import BatchStrategy
from tabnas.strategies._bayesian import BayesianOptimization
from tabnas.strategies._evolution import Evolution
from tabnas.strategies._exploring import Quality, StuckError, explore, recommended_after
from tabnas.strategies._guided import Guided
from tabnas.strategies._layerwise import Layerwise
from tabnas.strategies._policy import PolicyGradient
from tabnas.strategies._random import RandomSearch
from tabnas.strategies._strategy import Strategy
from tabnas.strategies._tpe import TPE

STRATEGIES: dict[str, type[Strategy]] = classes_by_name(__name__, Strategy, first="tabnas")
"""Every strategy by name: called with the feasible set, `rng` and options of its own.

One of your own goes in by assignment.
"""

__all__ = [
    "STRATEGIES",
    "TPE",
    "BatchStrategy",
    "BayesianOptimization",
    "Evolution",
    "Guided",
    "Layerwise",
    "PolicyGradient",
    "Quality",
    "RandomSearch",
    "Strategy",
    "StuckError",
    "explore",
    "recommended_after",
]
