"""Strategies that look for a good architecture: ours, the paper's baselines, what others use.

One file each. A new one is one subclass of `Strategy` and one line here.
"""

from __future__ import annotations

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

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (
        Guided,
        RandomSearch,
        PolicyGradient,
        Evolution,
        BayesianOptimization,
        TPE,
        Layerwise,
    )
}
"""Every strategy by name: called with the feasible set, `rng` and options of its own."""

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
