"""What a search has seen: which architectures were looked at, when, and how good they seemed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.space import SearchSpace
from tabnas.states import counts, floats
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Look:
    """One glance at architectures during a search."""

    step: int
    choices: IntArray  # [looks, layers]
    quality: FloatArray  # [looks]; NaN where an architecture did not count and was not evaluated


@dataclass
class History:
    """All looks of a search, in order, and how many of its weight steps could not be taken."""

    looks: list[Look] = field(default_factory=list)
    skipped: int = 0  # weight steps whose loss or gradient was not finite
    skipped_in_a_row: int = 0  # up to now

    def add(self, look: Look) -> None:
        """Remember one more."""
        self.looks.append(look)

    def skip(self) -> None:
        """Remember a weight step that was not taken."""
        self.skipped += 1
        self.skipped_in_a_row += 1

    def __len__(self) -> int:
        return len(self.looks)

    def state(self) -> dict[str, NDArray[Any]]:
        """All looks, as plain arrays."""
        counts = [len(look.quality) for look in self.looks]
        empty = np.zeros((0, 0), np.int64)
        return {
            "step": np.array([look.step for look in self.looks], np.int64),
            "count": np.array(counts, np.int64),
            "choices": np.concatenate([look.choices for look in self.looks] or [empty]),
            "quality": np.concatenate([look.quality for look in self.looks] or [np.zeros(0)]),
            "skipped": np.array([self.skipped, self.skipped_in_a_row], np.int64),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]], space: SearchSpace) -> None:
        """Remember what another history of the same space did."""
        steps = counts(state, "step", (None,))
        skipped, in_a_row = counts(state, "skipped", (2,)).tolist()
        sizes = counts(state, "count", steps.shape)
        quality = floats(state, "quality", (None,), finite=False)
        choices = counts(state, "choices", (len(quality), space.depth if len(steps) else 0))
        known = [len(layer) for layer in space.candidates][: choices.shape[1]]
        if sum(sizes.tolist()) != len(quality) or (choices >= known).any():
            raise TabnasError("the looks of a search must be at architectures of its space")
        ends = np.cumsum(sizes)[:-1]
        pieces = (np.split(array, ends) for array in (choices, quality))
        looks = zip(steps.tolist(), *pieces, strict=True) if len(steps) else ()
        self.looks = [Look(*look) for look in looks]
        self.skipped, self.skipped_in_a_row = skipped, in_a_row

    def worst(self) -> float:
        """The lowest quality seen so far; NaN if there is none."""
        _, _, quality = self.evaluated()
        return float(quality.min()) if len(quality) else nan

    def evaluated(self) -> tuple[IntArray, IntArray, FloatArray]:
        """All that was evaluated: number of the look [n], choices [n, layers], quality [n]."""
        if not self.looks:
            return np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0)
        number = np.concatenate([np.full(len(x.quality), k) for k, x in enumerate(self.looks)])
        choices = np.concatenate([look.choices for look in self.looks])
        quality = np.concatenate([look.quality for look in self.looks])
        seen = np.isfinite(quality)
        return number[seen], choices[seen], quality[seen]
