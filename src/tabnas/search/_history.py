"""What a search has seen: which architectures were looked at, when, and how good they seemed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Look:
    """One glance at architectures during a search."""

    step: int
    choices: IntArray  # [looks, layers]
    quality: FloatArray  # [looks]; NaN where an architecture did not count and was not evaluated


@dataclass
class History:
    """All looks of a search, in order."""

    looks: list[Look] = field(default_factory=list)

    def add(self, look: Look) -> None:
        """Remember one more."""
        self.looks.append(look)

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
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Remember what another history did."""
        ends = np.cumsum(state["count"])[:-1]
        pieces = (np.split(state[name], ends) for name in ("choices", "quality"))
        looks = zip(state["step"].tolist(), *pieces, strict=True) if len(state["step"]) else ()
        self.looks = [Look(*look) for look in looks]

    def evaluated(self) -> tuple[IntArray, IntArray, FloatArray]:
        """All that was evaluated: number of the look [n], choices [n, layers], quality [n]."""
        if not self.looks:
            return np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0)
        number = np.concatenate([np.full(len(x.quality), k) for k, x in enumerate(self.looks)])
        choices = np.concatenate([look.choices for look in self.looks])
        quality = np.concatenate([look.quality for look in self.looks])
        seen = np.isfinite(quality)
        return number[seen], choices[seen], quality[seen]
