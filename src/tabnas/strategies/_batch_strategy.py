"""Strategies that plan several evaluations at once: a generation, a batch, a layer."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.strategies._strategy import Strategy
from tabnas.types import FloatArray, IntArray


class BatchStrategy(Strategy):
    """Suggests the rest of a plan, and plans again once all of it is evaluated.

    So stopping in the middle of a plan and continuing later gives the same result as no stop.
    """

    def __init__(self, feasible: FeasibleSet, *, rng: np.random.Generator | int) -> None:
        super().__init__(feasible, rng=rng)
        self._pending = np.zeros((0, len(feasible.space.layers)), np.int64)

    @abstractmethod
    def plan(self) -> IntArray:
        """Return the feasible architectures to evaluate next, as choices, [n, layers]; n >= 1."""

    def suggest(self) -> IntArray:
        if len(self._pending) == 0:
            self._pending = self.plan()
        return self._pending.copy()

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        done = Counter(to_tuples(np.asarray(choices)[np.isfinite(quality)]))
        remaining = np.ones(len(self._pending), dtype=np.bool_)
        for index, row in enumerate(to_tuples(self._pending)):
            remaining[index] = done[row] <= 0
            done[row] -= 1
        self._pending = self._pending[remaining]


def to_tuples(choices: IntArray) -> list[tuple[int, ...]]:
    """Return choices, [n, layers], as tuples, which sets and dicts can hold."""
    return [tuple(row) for row in choices.tolist()]
