"""The history of a search: which architectures were evaluated, when, and with which quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.space import SearchSpace
from tabnas.states import read_counts, read_floats
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The evaluation of some architectures in one policy step."""

    step: int
    choices: IntArray  # [architectures, layers]
    quality: FloatArray  # [architectures]; NaN where an architecture needed no evaluation


@dataclass
class History:
    """All evaluations of a search, in order, and the number of weight steps that were skipped."""

    evaluations: list[Evaluation] = field(default_factory=list)
    skipped: int = 0  # weight steps whose loss or gradient was not finite
    skipped_in_a_row: int = 0  # up to now

    def add(self, evaluation: Evaluation) -> None:
        """Append an evaluation."""
        self.evaluations.append(evaluation)

    def count_skipped_step(self) -> None:
        """Count a weight step that was skipped."""
        self.skipped += 1
        self.skipped_in_a_row += 1

    def __len__(self) -> int:
        return len(self.evaluations)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return all evaluations as arrays."""
        sizes = [len(one.quality) for one in self.evaluations]
        empty = np.zeros((0, 0), np.int64)
        return {
            "step": np.array([one.step for one in self.evaluations], np.int64),
            "count": np.array(sizes, np.int64),
            "choices": np.concatenate([one.choices for one in self.evaluations] or [empty]),
            "quality": np.concatenate([one.quality for one in self.evaluations] or [np.zeros(0)]),
            "skipped": np.array([self.skipped, self.skipped_in_a_row], np.int64),
        }

    def load_state_dict(self, state: Mapping[str, NDArray[Any]], space: SearchSpace) -> None:
        """Restore the state of a history of the same space."""
        steps = read_counts(state, "step", (None,))
        skipped, in_a_row = read_counts(state, "skipped", (2,)).tolist()
        sizes = read_counts(state, "count", steps.shape)
        quality = read_floats(state, "quality", (None,), finite=False)
        known = [len(layer) for layer in space.layers] if len(steps) else []
        choices = read_counts(state, "choices", (len(quality), len(known)))
        if sum(sizes.tolist()) != len(quality) or (choices >= known).any():
            raise TabNASError("the evaluations of a search must be of architectures of its space")
        ends = np.cumsum(sizes)[:-1]
        pieces = (np.split(array, ends) for array in (choices, quality))
        evaluations = zip(steps.tolist(), *pieces, strict=True) if len(steps) else ()
        self.evaluations = [Evaluation(*one) for one in evaluations]
        self.skipped, self.skipped_in_a_row = skipped, in_a_row

    def min_quality(self) -> float:
        """Return the lowest quality so far; NaN if there is none."""
        _, _, quality = self.flatten()
        return float(quality.min()) if len(quality) else nan

    def flatten(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return all qualities: index of the evaluation [n], choices [n, layers], quality [n]."""
        if not self.evaluations:
            return np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0)
        index = np.concatenate([np.full(len(x.quality), k) for k, x in enumerate(self.evaluations)])
        choices = np.concatenate([one.choices for one in self.evaluations])
        quality = np.concatenate([one.quality for one in self.evaluations])
        finite = np.isfinite(quality)
        return index[finite], choices[finite], quality[finite]
