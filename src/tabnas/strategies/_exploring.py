"""The loop around a strategy, with the number of looks counted the same way for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tabnas.errors import TabnasError, whole
from tabnas.space import Architecture
from tabnas.strategies._strategy import Strategy
from tabnas.types import FloatArray, IntArray

Quality = Callable[[IntArray], FloatArray]
"""From choices, [n, layers], to their qualities, [n]."""

FRUITLESS = 10_000
"""Suggestions in a row that need no look before it is said that the strategy is stuck."""


class StuckError(TabnasError):
    """A strategy suggests nothing any more that has to be looked at."""


def explore(strategy: Strategy, quality: Quality, looks: int) -> None:
    """Let the strategy look at so many architectures, repeats included.

    >>> import numpy as np
    >>> from tabnas import Budget, FeasibleSet, SearchSpace
    >>> from tabnas.strategies import RandomSearch
    >>> space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    >>> strategy = RandomSearch(FeasibleSet(space, Budget(dense_parameters=25)), rng=0)
    >>> explore(strategy, lambda choices: choices[:, 0] - 0.5 * choices[:, 1], looks=30)
    >>> strategy.recommend()
    [Architecture('4-2')]
    """
    whole("looks", looks, least=1)
    fruitless = 0
    while strategy.looks < looks:
        choices = strategy.suggest()
        counts = strategy.counts(choices)
        # no look beyond what was allowed, even if a strategy suggests several at once
        counts &= np.cumsum(counts) <= looks - strategy.looks
        found = np.full(len(choices), np.nan)
        found[counts] = quality(choices[counts])
        strategy.update(choices, found)
        fruitless = 0 if counts.any() else fruitless + len(choices)
        if fruitless >= FRUITLESS:
            raise StuckError(
                f"the strategy {strategy.name!r} suggested {fruitless:,} architectures in a row "
                f"that are not feasible, after {strategy.looks:,} looks"
            )


def recommended_after(
    strategy: Strategy, quality: Quality, stops: Sequence[int]
) -> list[list[Architecture]]:
    """What the strategy would answer after so many looks each, in ascending order."""
    answers = []
    for looks in sorted(stops):
        explore(strategy, quality, looks)
        answers.append(strategy.recommend())
    return answers
