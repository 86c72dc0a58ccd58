"""What a reward is: which architectures a policy learns from, and what they are worth."""

from __future__ import annotations

from abc import ABC
from functools import cached_property
from typing import ClassVar

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.policy._policy import Policy
from tabnas.space import Budget
from tabnas.types import BoolArray, FloatArray, IntArray


class Reward(ABC):
    """One way to answer the limit while learning. This one ignores it; subclasses change a part.

    The policy ascends `J(y) = stop_grad(r(y) - rbar) * log D(y)`, where D is the distribution that
    y counts as drawn from: the policy itself, or the policy given V. With softmax logits,
    `d log D(y) / d l_ij = 1[y_i = j] - E_D[1[Y_i = j]]`, so four answers make a reward: where y is
    drawn, whether it counts, what it is worth, and the expectation under D.
    """

    name: ClassVar[str]
    unbiased: ClassVar[bool] = True
    """Whether the expectation is that of the architectures which count: the score's mean is 0."""
    rejects: ClassVar[bool] = False
    """Whether only what is feasible counts; the policy is then to be read given V."""

    def __init__(self, feasible: FeasibleSet) -> None:
        self.feasible = feasible

    @cached_property
    def _everything(self) -> FeasibleSet | None:
        """All architectures, where some choices are none: a layer after an absent one."""
        space = self.feasible.space
        return FeasibleSet(space, Budget()) if space.has_optional_layers else None

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        """The architectures to look at, [..., n, layers]."""
        if self._everything is None:
            return policy.sample(n, rng)
        return self._everything.given(policy.log_p).sample(n, rng)

    def counts(self, choices: IntArray) -> BoolArray:
        """Which of them the policy learns from, [..., n]."""
        return np.ones(choices.shape[:-1], dtype=np.bool_)

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        """The reward r(y) of each, [..., n], from its quality Q(y)."""
        return quality

    def expectation(self, policy: Policy, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """E[1[Y_i = j]], [..., layers, choices], and where it is known, [...]."""
        known = np.ones(policy.log_p.shape[:-2], dtype=np.bool_)
        if self._everything is None:
            return policy.probabilities, known
        return self._everything.marginals(policy.log_p), known


class PenaltyReward(Reward):
    """Rewards that weigh the quality with the load `T(y) / T0` and learn from every architecture.

    With several limits the load is the largest of theirs.
    """

    def __init__(self, feasible: FeasibleSet) -> None:
        super().__init__(feasible)
        if not any(limit.at_most for limit in feasible.budget.limits):
            raise TabnasError(f"the reward {self.name!r} needs a limit above 0, but there is none")

    def load(self, choices: IntArray) -> FloatArray:
        """T(y) / T0, [...]."""
        return self.feasible.load(choices)

    @staticmethod
    def weigh(quality: FloatArray, factor: FloatArray) -> FloatArray:
        """Return `Q * factor`, where a factor below 1 is a penalty and one above 1 a bonus.

        NOTE[DIFF]: the papers multiply whatever Q is. That suits accuracies; `Q = 1 - loss` is
        negative where the loss is above 1, and a penalty would then raise the reward of what is
        over the limit. Below 0 a penalty subtracts `|Q| * (1 - factor)`, as much as it does above
        0, and a bonus divides. So the reward never falls with the quality nor with the factor.
        """
        with np.errstate(divide="ignore"):
            below = np.where(factor > 1, 1 / factor, 2 - factor)
        return np.asarray(quality * np.where(quality < 0, below, factor))


class BetaReward(PenaltyReward):
    """Penalties with the strength beta, which is negative."""

    def __init__(self, feasible: FeasibleSet, *, beta: float) -> None:
        super().__init__(feasible)
        if not np.isfinite(beta) or beta > 0:
            raise TabnasError(f"beta must not be positive, however {beta} was given")
        self.beta = beta

    def power(self, choices: IntArray) -> FloatArray:
        """(T(y) / T0)^beta, [...]; infinite at a cost of 0, which the controller refuses."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.load(choices) ** self.beta)
