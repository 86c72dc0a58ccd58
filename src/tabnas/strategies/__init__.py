"""Strategies that look for a good architecture: ours, the paper's baselines, what others use."""

from __future__ import annotations

from tabnas.strategies._exploring import Quality, StuckError, explore, recommended_after
from tabnas.strategies._random import RandomSearch
from tabnas.strategies._strategy import Strategy

STRATEGIES: dict[str, type[Strategy]] = {strategy.name: strategy for strategy in (RandomSearch,)}
"""Every strategy by name: called with the feasible set, `rng` and options of its own."""

__all__ = [
    "STRATEGIES",
    "Quality",
    "RandomSearch",
    "Strategy",
    "StuckError",
    "explore",
    "recommended_after",
]
