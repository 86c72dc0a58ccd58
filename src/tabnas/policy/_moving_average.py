"""The moving average of rewards that serves as a baseline (`Q-bar`)."""

from __future__ import annotations

import numpy as np

from tabnas.types import BoolArray, FloatArray


class MovingAverage:
    """A bias-corrected exponential moving average, for a batch of policies.

    NOTE[DIFF]: Algorithm 1 prints a division by `gamma * Qbar + 1 - gamma`, which must mean the
    corrected average: numerator and denominator are both decayed by gamma, stored separately, and
    divided.

    >>> average = MovingAverage(decay=0.9)
    >>> average.add(np.array(3.0), np.array(True))
    >>> float(average.value)
    3.0
    """

    def __init__(self, *, decay: float = 0.9, batch: tuple[int, ...] = ()) -> None:
        self.decay = decay
        self.total = np.zeros(batch)
        self.weight = np.zeros(batch)

    def add(self, value: FloatArray, active: BoolArray) -> None:
        """Add `value`, [...], where `active`; nothing changes elsewhere."""
        gamma = self.decay
        self.total = np.where(active, gamma * self.total + (1 - gamma) * value, self.total)
        self.weight = np.where(active, gamma * self.weight + (1 - gamma), self.weight)

    @property
    def value(self) -> FloatArray:
        """The average, [...]; 0 where nothing was added yet."""
        empty = self.weight == 0
        return np.asarray(self.total / np.where(empty, 1.0, self.weight))
