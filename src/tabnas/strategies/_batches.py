"""Strategies that plan several looks at once: a generation, a batch, a layer."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.strategies._strategy import Strategy
from tabnas.types import FloatArray, IntArray


class BatchStrategy(Strategy):
    """Suggests what is left of a plan, and plans anew once all of it was looked at.

    So whoever stops in the middle of a plan and goes on later ends where no stop would have led.
    """

    def __init__(self, feasible: FeasibleSet, *, rng: np.random.Generator | int) -> None:
        super().__init__(feasible, rng=rng)
        self._waiting = np.zeros((0, feasible.space.depth), np.int64)

    @abstractmethod
    def plan(self) -> IntArray:
        """The feasible architectures to look at next, as choices, [n, layers]; n is at least 1."""

    def suggest(self) -> IntArray:
        if len(self._waiting) == 0:
            self._waiting = self.plan()
        return self._waiting.copy()

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        done = Counter(rows(np.asarray(choices)[np.isfinite(quality)]))
        left = np.ones(len(self._waiting), dtype=np.bool_)
        for place, row in enumerate(rows(self._waiting)):
            left[place] = done[row] == 0
            done[row] -= 1
        self._waiting = self._waiting[left]


def rows(choices: IntArray) -> list[tuple[int, ...]]:
    """Choices, [n, layers], as what a set or a dict can hold."""
    return [tuple(row) for row in choices.tolist()]
