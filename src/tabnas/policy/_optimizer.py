"""Optimizers that maximize the expected reward over the logits: Adam as in the paper, and SGD."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from tabnas.errors import TabNASError
from tabnas.states import check_keys, read_floats
from tabnas.types import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True)
class PolicyOptimizer(ABC):
    """The settings of an optimizer; `learning_rate` is the paper's RL learning rate eta."""

    learning_rate: float = 0.005  # the paper uses [0.001, 0.01] on all its datasets

    def __post_init__(self) -> None:
        if not (isfinite(self.learning_rate) and self.learning_rate > 0):
            raise TabNASError(f"`learning_rate` must be positive, got {self.learning_rate}")

    @abstractmethod
    def init(self, logits: FloatArray) -> PolicyOptimizerState:
        """Return the state of the optimizer at `logits`, [..., layers, choices]."""


class PolicyOptimizerState(ABC):
    """The logits and the moments of an optimizer.

    Policies that are not active in a step keep all their state.
    """

    logits: FloatArray

    @abstractmethod
    def step(self, gradient: FloatArray, active: BoolArray) -> None:
        """Move the logits of the `active` policies, [...], up along `gradient`."""

    def state_dict(self) -> dict[str, FloatArray]:
        """Return all arrays that later steps depend on."""
        return {name: value.copy() for name, value in vars(self).items() if name != "settings"}

    def load_state_dict(self, state: Mapping[str, FloatArray]) -> None:
        """Restore the state of an optimizer of the same kind."""
        current = self.state_dict()
        check_keys(state, current)
        for name, value in current.items():
            setattr(self, name, read_floats(state, name, value.shape))


@dataclass(frozen=True, kw_only=True)
class SGD(PolicyOptimizer):
    """`l <- l + eta * gradient`."""

    def init(self, logits: FloatArray) -> PolicyOptimizerState:
        return _SGDState(self, logits.copy())


@dataclass(eq=False)
class _SGDState(PolicyOptimizerState):
    settings: SGD
    logits: FloatArray

    def step(self, gradient: FloatArray, active: BoolArray) -> None:
        moved = self.logits + self.settings.learning_rate * gradient
        self.logits = np.where(active[..., None, None], moved, self.logits)


@dataclass(frozen=True, kw_only=True)
class Adam(PolicyOptimizer):
    """Adam with the paper's constants."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 < 1 and 0 < self.epsilon < inf):
            raise TabNASError(
                "the betas of Adam must be in [0, 1) and its epsilon must be positive, got "
                f"{self.beta1}, {self.beta2} and {self.epsilon}"
            )

    def init(self, logits: FloatArray) -> PolicyOptimizerState:
        return _AdamState(self, logits.copy())


@dataclass(eq=False)
class _AdamState(PolicyOptimizerState):
    settings: Adam
    logits: FloatArray
    mean: FloatArray = field(init=False)  # moving average of the gradient
    square: FloatArray = field(init=False)  # moving average of its square
    steps: FloatArray = field(init=False)  # [...]: steps taken, without skipped ones

    def __post_init__(self) -> None:
        self.mean = np.zeros_like(self.logits)
        self.square = np.zeros_like(self.logits)
        self.steps = np.zeros(self.logits.shape[:-2])

    def load_state_dict(self, state: Mapping[str, FloatArray]) -> None:
        super().load_state_dict(state)
        if (self.square < 0).any() or (self.steps < 0).any():
            raise TabNASError("`square` and `steps` of an optimizer state must not be negative")

    def step(self, gradient: FloatArray, active: BoolArray) -> None:
        from tabnas.policy import _kernels

        policies = (self.steps.size, -1)
        moved = _kernels.adam_step(
            self.logits.reshape(policies),
            self.mean.reshape(policies),
            self.square.reshape(policies),
            self.steps.reshape(-1),
            gradient.reshape(policies),
            active.reshape(-1),
            self.settings.learning_rate,
            self.settings.beta1,
            self.settings.beta2,
            self.settings.epsilon,
        )
        self.logits = moved.reshape(self.logits.shape)
