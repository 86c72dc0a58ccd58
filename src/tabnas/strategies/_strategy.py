"""The base class of strategies: `suggest`, `update`, and `recommend` at any time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tabnas.errors import TabNASError, check_int
from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture
from tabnas.types import BoolArray, FloatArray, IntArray


class Strategy(ABC):
    """A way to find a good architecture of a feasible set with few evaluations.

    `suggest()` returns architectures, the caller evaluates them, and `update()` learns from the
    results. `recommend()` can be called at any time and returns feasible architectures only. The
    caller decides what a quality is and how to compute it. So the same strategies search tables of
    known qualities, noisy objectives, and the children of a trained SuperNet.
    """

    name: ClassVar[str]

    def __init__(self, feasible: FeasibleSet, *, rng: np.random.Generator | int) -> None:
        self.feasible = feasible
        self.rng = np.random.default_rng(rng)
        self._choices = np.zeros((0, len(feasible.space.layers)), np.int64)
        self._quality = np.zeros(0)

    @abstractmethod
    def suggest(self) -> IntArray:
        """Return the architectures to evaluate next, as choices, [n, layers]; n >= 1."""

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        """Return which suggestions need evaluation, [n]; pass NaN for the others to `update`."""
        return np.ones(len(choices), dtype=np.bool_)

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        """Learn from the `quality`, [n], of suggested choices; higher is better.

        This stores the evaluations. Strategies with more state extend it.
        """
        choices, quality = np.asarray(choices), np.asarray(quality, np.float64)
        shape = len(quality), len(self.feasible.space.layers)
        if choices.shape != shape:
            raise TabNASError(
                f"`choices` must have the shape {shape}, one row for each quality, got "
                f"{choices.shape}"
            )
        choices = self.feasible.space.check_choices(choices)
        evaluated = np.isfinite(quality)
        self._choices = np.concatenate([self._choices, choices[evaluated]])
        self._quality = np.concatenate([self._quality, quality[evaluated]])

    def recommend(self, n: int = 1) -> list[Architecture]:
        """Return the n best feasible architectures, best first; fewer if fewer are known.

        By default these are the ones of the highest mean quality.
        """
        check_int("n", n, minimum=1)
        choices, quality = self.mean_qualities()
        inside = self.feasible.contains(choices)
        best = np.argsort(-quality[inside], kind="stable")[:n]
        return [self.feasible.architecture(row) for row in choices[inside][best]]

    def mean_qualities(self) -> tuple[IntArray, FloatArray]:
        """Return the distinct evaluated choices, [n, layers], and their mean quality, [n]."""
        choices, index = np.unique(self._choices, axis=0, return_inverse=True)
        index = index.reshape(-1)
        repeats = np.bincount(index, minlength=len(choices))
        return choices, np.bincount(index, self._quality, minlength=len(choices)) / repeats

    @property
    def n_evaluations(self) -> int:
        """The number of evaluations so far, repeats included."""
        return len(self._quality)
