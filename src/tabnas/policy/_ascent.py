"""Gradient ascent on the logits: Adam as in the paper, and plain SGD."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from tabnas.errors import TabnasError
from tabnas.states import floats, refuse_other_names
from tabnas.types import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True)
class Ascent(ABC):
    """How a policy climbs; `rate` is the paper's RL learning rate eta."""

    rate: float = 0.005  # the paper found [0.001, 0.01] right for all its datasets

    def __post_init__(self) -> None:
        if not (isfinite(self.rate) and self.rate > 0):
            raise TabnasError(f"the RL rate must be positive, however {self.rate} was given")

    @abstractmethod
    def start(self, logits: FloatArray) -> Climber:
        """The state of an ascent from `logits`, [..., layers, choices]."""


class Climber(ABC):
    """An ascent under way. Policies that are not active in a step keep all their state."""

    logits: FloatArray

    @abstractmethod
    def step(self, gradient: FloatArray, active: BoolArray) -> None:
        """Go up along `gradient`, like the logits, for the policies that are `active`, [...]."""

    def state(self) -> dict[str, FloatArray]:
        """All that shapes the future."""
        return {name: value.copy() for name, value in vars(self).items() if name != "ascent"}

    def load_state(self, state: Mapping[str, FloatArray]) -> None:
        """Go on from a state of the same kind of ascent."""
        own = self.state()
        refuse_other_names(state, own)
        for name, value in own.items():
            setattr(self, name, floats(state, name, value.shape))


@dataclass(frozen=True, kw_only=True)
class SGD(Ascent):
    """`l <- l + eta * gradient`."""

    def start(self, logits: FloatArray) -> Climber:
        return _SGDClimber(self, logits.copy())


@dataclass(eq=False)
class _SGDClimber(Climber):
    ascent: SGD
    logits: FloatArray

    def step(self, gradient: FloatArray, active: BoolArray) -> None:
        moved = self.logits + self.ascent.rate * gradient
        self.logits = np.where(active[..., None, None], moved, self.logits)


@dataclass(frozen=True, kw_only=True)
class Adam(Ascent):
    """Adam with the paper's constants."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 < 1 and 0 < self.epsilon < inf):
            raise TabnasError(
                "Adam's betas must be in [0, 1) and its epsilon positive, however "
                f"{self.beta1}, {self.beta2} and {self.epsilon} were given"
            )

    def start(self, logits: FloatArray) -> Climber:
        return _AdamClimber(self, logits.copy())


@dataclass(eq=False)
class _AdamClimber(Climber):
    ascent: Adam
    logits: FloatArray
    mean: FloatArray = field(init=False)  # moving average of the gradient
    square: FloatArray = field(init=False)  # and of its square
    steps: FloatArray = field(init=False)  # [...]: taken, not skipped

    def __post_init__(self) -> None:
        self.mean = np.zeros_like(self.logits)
        self.square = np.zeros_like(self.logits)
        self.steps = np.zeros(self.logits.shape[:-2])

    def load_state(self, state: Mapping[str, FloatArray]) -> None:
        super().load_state(state)
        if (self.square < 0).any() or (self.steps < 0).any():
            raise TabnasError("squares and steps of an ascent must not be negative, but some are")

    def step(self, gradient: FloatArray, active: BoolArray) -> None:
        from tabnas.policy import _kernels

        a = self.ascent
        policies = (self.steps.size, -1)
        moved = _kernels.adam_ascent(
            self.logits.reshape(policies),
            self.mean.reshape(policies),
            self.square.reshape(policies),
            self.steps.reshape(-1),
            gradient.reshape(policies),
            active.reshape(-1),
            a.rate,
            a.beta1,
            a.beta2,
            a.epsilon,
        )
        self.logits = moved.reshape(self.logits.shape)
