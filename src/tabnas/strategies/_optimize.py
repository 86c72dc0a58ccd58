"""The loop around a strategy, which counts evaluations in the same way for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tabnas.errors import TabNASError, check_int
from tabnas.space import Architecture
from tabnas.strategies._strategy import Strategy
from tabnas.types import FloatArray, IntArray

Objective = Callable[[IntArray], FloatArray]
"""A function from choices, [n, layers], to their qualities, [n]; higher is better."""

MAX_WITHOUT_EVALUATION = 10_000
"""Consecutive suggestions that need no evaluation before `optimize` gives up."""


class StuckError(TabNASError):
    """A strategy only suggests architectures that need no evaluation."""


def optimize(strategy: Strategy, objective: Objective, n_evaluations: int) -> None:
    """Run the strategy until it has made `n_evaluations` in total, repeats included.

    The objective must return a finite quality for every architecture.

    >>> import numpy as np
    >>> from tabnas import Budget, FeasibleSet, SearchSpace
    >>> from tabnas.strategies import RandomSearch
    >>> space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    >>> strategy = RandomSearch(FeasibleSet(space, Budget(dense_parameters=25)), rng=0)
    >>> optimize(strategy, lambda choices: choices[:, 0] - 0.5 * choices[:, 1], n_evaluations=30)
    >>> strategy.recommend()
    [Architecture('4-2')]
    """
    check_int("n_evaluations", n_evaluations, minimum=1)
    without_evaluation = 0
    while strategy.n_evaluations < n_evaluations:
        choices = strategy.suggest()
        evaluated = strategy.needs_evaluation(choices)
        # never more evaluations than allowed, even if a strategy suggests several at once
        evaluated &= np.cumsum(evaluated) <= n_evaluations - strategy.n_evaluations
        quality = np.full(len(choices), np.nan)
        quality[evaluated] = objective(choices[evaluated])
        if not np.isfinite(quality[evaluated]).all():  # it would be suggested again and again
            wrong = choices[evaluated & ~np.isfinite(quality)][0]
            raise TabNASError(
                "the quality of an architecture must be finite, but that of "
                f"{strategy.feasible.space.architecture(wrong)} is not; return a low quality for it"
            )
        strategy.update(choices, quality)
        without_evaluation = 0 if evaluated.any() else without_evaluation + len(choices)
        if without_evaluation >= MAX_WITHOUT_EVALUATION:
            raise StuckError(
                f"the strategy {strategy.name!r} suggested {without_evaluation:,} infeasible "
                f"architectures in a row, after {strategy.n_evaluations:,} evaluations; use a "
                "strategy that samples from the feasible set"
            )


def recommend_at(
    strategy: Strategy, objective: Objective, n_evaluations: Sequence[int]
) -> list[list[Architecture]]:
    """Return what the strategy recommends after each number of evaluations, in ascending order."""
    recommendations = []
    for number in sorted(n_evaluations):
        optimize(strategy, objective, number)
        recommendations.append(strategy.recommend())
    return recommendations
