"""Black-box strategies for finding a good architecture, one file each.

`STRATEGIES` lists them by name: ours, the paper's baselines, and Optuna's TPE.
"""

from __future__ import annotations

from tabnas.registries import by_name
from tabnas.strategies._batch_strategy import BatchStrategy
from tabnas.strategies._bayesian import BayesianOptimization
from tabnas.strategies._evolution import Evolution
from tabnas.strategies._guided import Guided
from tabnas.strategies._layerwise import Layerwise
from tabnas.strategies._optimize import Objective, StuckError, optimize, recommend_at
from tabnas.strategies._policy_gradient import PolicyGradient
from tabnas.strategies._random import RandomSearch
from tabnas.strategies._strategy import Strategy
from tabnas.strategies._tpe import TPE

STRATEGIES: dict[str, type[Strategy]] = by_name(
    Guided, BayesianOptimization, Evolution, Layerwise, PolicyGradient, RandomSearch, TPE
)
"""Every strategy by name. Call one with the feasible set, `rng` and its options.

Add your own by assignment.
"""

__all__ = [
    "STRATEGIES",
    "TPE",
    "BatchStrategy",
    "BayesianOptimization",
    "Evolution",
    "Guided",
    "Layerwise",
    "Objective",
    "PolicyGradient",
    "RandomSearch",
    "Strategy",
    "StuckError",
    "optimize",
    "recommend_at",
]
