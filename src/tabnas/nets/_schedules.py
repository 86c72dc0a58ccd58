"""Learning-rate schedules: the learning rate of every step of a training."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

from tabnas.nets._optimizers import check_range


@dataclass(frozen=True)
class Constant:
    """The same learning rate in every step.

    >>> Constant(0.1)(step=7, steps=10)
    0.1
    """

    learning_rate: float

    def __post_init__(self) -> None:
        check_range("learning_rate", self.learning_rate, 0.0, float("inf"))

    def __call__(self, *, step: int, steps: int) -> float:
        """Return the learning rate of `step` (from 0) of `steps`."""
        return self.learning_rate


@dataclass(frozen=True)
class Cosine:
    """Half a cosine from `learning_rate` down to `final`.

    After the fraction t of all steps: final + (learning_rate - final) (1 + cos(pi t)) / 2.

    >>> [round(Cosine(1.0)(step=step, steps=4), 3) for step in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    learning_rate: float
    final: float = 0.0

    def __post_init__(self) -> None:
        check_range("learning_rate", self.learning_rate, 0.0, float("inf"))
        check_range("final", self.final, 0.0, float("inf"))

    def __call__(self, *, step: int, steps: int) -> float:
        """Return the learning rate of `step` (from 0) of `steps`."""
        elapsed = min(step / steps, 1.0)
        return self.final + (self.learning_rate - self.final) * (1.0 + cos(pi * elapsed)) / 2.0


Schedule = Constant | Cosine
"""How the learning rate changes during a training."""
