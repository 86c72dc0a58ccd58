"""What a strategy is: two verbs, `suggest` and `update`, and an answer at any time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tabnas.errors import TabnasError, whole
from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture
from tabnas.types import BoolArray, FloatArray, IntArray


class Strategy(ABC):
    """One way to find a good architecture of a feasible set by looking at few of them.

    `suggest()` names architectures, the caller finds out how good each is, `update()` learns from
    it; `recommend()` may be asked at any time and names feasible architectures only. What a quality
    is, and what it costs to find out, is the caller's business, so the same strategies search
    tables of known qualities, noisy ones, and the children of a trained SuperNet.
    """

    name: ClassVar[str]

    def __init__(self, feasible: FeasibleSet, *, rng: np.random.Generator | int) -> None:
        self.feasible = feasible
        self.rng = np.random.default_rng(rng)
        self._choices = np.zeros((0, feasible.space.depth), np.int64)
        self._quality = np.zeros(0)

    @abstractmethod
    def suggest(self) -> IntArray:
        """The architectures to look at next, as choices, [n, layers]; n is at least 1."""

    def counts(self, choices: IntArray) -> BoolArray:
        """Which suggestions have to be looked at, [n]; `update` is told NaN for the others."""
        return np.ones(len(choices), dtype=np.bool_)

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        """Learn from the `quality`, [n], of suggested choices: the higher, the better.

        Strategies that keep more than a record of what was seen add to this.
        """
        choices, quality = np.asarray(choices), np.asarray(quality, np.float64)
        if choices.shape != (len(quality), self.feasible.space.depth):
            raise TabnasError(
                f"choices must be of {len(quality)} architectures with {self.feasible.space.depth} "
                f"layers, however their shape is {choices.shape}"
            )
        looked_at = np.isfinite(quality)
        self._choices = np.concatenate([self._choices, choices[looked_at]])
        self._quality = np.concatenate([self._quality, quality[looked_at]])

    def recommend(self, n: int = 1) -> list[Architecture]:
        """The n best feasible architectures as far as is known, best first; fewer if so few.

        Unless a strategy knows better: by the mean quality of those it has seen.
        """
        whole("n", n, least=1)
        choices, quality = self.seen()
        inside = self.feasible.contains(choices)
        best = np.argsort(-quality[inside], kind="stable")[:n]
        return [self.feasible.space.architecture(row) for row in choices[inside][best]]

    def seen(self) -> tuple[IntArray, FloatArray]:
        """The architectures looked at, each once, [n, layers], and their mean quality, [n]."""
        choices, place = np.unique(self._choices, axis=0, return_inverse=True)
        place = place.reshape(-1)
        looks = np.bincount(place, minlength=len(choices))
        return choices, np.bincount(place, self._quality, minlength=len(choices)) / looks

    @property
    def looks(self) -> int:
        """How many times an architecture was looked at, repeats included."""
        return len(self._quality)
