"""The base classes of rewards: which architectures a policy learns from, and with which reward."""

from __future__ import annotations

from abc import ABC
from functools import cached_property
from typing import ClassVar

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.policy._policy import Policy
from tabnas.space import Budget
from tabnas.types import BoolArray, FloatArray, IntArray


class Reward(ABC):
    """A way to take the limit into account. This class ignores it; subclasses override a part.

    The policy maximizes `J(y) = stop_grad(r(y) - rbar) * log D(y)`, where D is the distribution
    that y is drawn from: the policy, or the policy given V. With softmax logits,
    `d log D(y) / d l_ij = 1[y_i = j] - E_D[1[Y_i = j]]`. So four methods define a reward: how y is
    sampled, whether it needs evaluation, its value, and the expectation under D.
    """

    name: ClassVar[str]
    is_unbiased: ClassVar[bool] = True
    """Whether the expectation is that of the evaluated architectures; the mean score is then 0."""
    rejects_infeasible: ClassVar[bool] = False
    """Whether the policy learns from feasible architectures only, and is then used given V."""

    def __init__(self, feasible: FeasibleSet) -> None:
        self.feasible = feasible

    @cached_property
    def _everything(self) -> FeasibleSet | None:
        """All architectures, if the space has invalid choices (a layer after an absent one)."""
        space = self.feasible.space
        return FeasibleSet(space, Budget()) if space.has_optional_layers else None

    def sample(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        """Draw the architectures to evaluate, [..., n, layers]."""
        if self._everything is None:
            return policy.sample(n, rng)
        return self._everything.condition(policy.log_p).sample(n, rng)

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        """Return which of the choices the policy learns from, [..., n]."""
        return np.ones(choices.shape[:-1], dtype=np.bool_)

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        """Return the reward r(y) of each architecture, [..., n], from its quality Q(y)."""
        return quality

    def expectation(self, policy: Policy, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Return E[1[Y_i = j]], [..., layers, choices], and where it is known, [...]."""
        known = np.ones(policy.log_p.shape[:-2], dtype=np.bool_)
        if self._everything is None:
            return policy.probabilities, known
        return self._everything.marginals(policy.log_p), known


class PenaltyReward(Reward):
    """Rewards that combine quality and cost ratio `T(y) / T0` and learn from every architecture.

    With several limits, the largest ratio counts.
    """

    def __init__(self, feasible: FeasibleSet) -> None:
        super().__init__(feasible)
        if not any(limit.upper for limit in feasible.budget.limits):
            raise TabNASError(f"the reward {self.name!r} needs a limit above 0, got none")

    def cost_ratio(self, choices: IntArray) -> FloatArray:
        """Return T(y) / T0, [...]."""
        return self.feasible.cost_ratio(choices)

    @staticmethod
    def weigh(quality: FloatArray, factor: FloatArray) -> FloatArray:
        """Return `Q * factor`, where a factor below 1 is a penalty and one above 1 a bonus.

        NOTE[DIFF]: the papers multiply for every Q. That suits accuracies, but `Q = 1 - loss` is
        negative where the loss is above 1, and a penalty would then raise the reward of an
        architecture over the limit. Below 0 a penalty subtracts `|Q| * (1 - factor)`, as much as it
        does above 0, and a bonus divides. So the reward rises with both quality and factor.
        """
        with np.errstate(divide="ignore"):
            below = np.where(factor > 1, 1 / factor, 2 - factor)
        return np.asarray(quality * np.where(quality < 0, below, factor))


class BetaReward(PenaltyReward):
    """Penalties with the exponent or weight beta, which is at most 0."""

    def __init__(self, feasible: FeasibleSet, *, beta: float) -> None:
        super().__init__(feasible)
        if not np.isfinite(beta) or beta > 0:
            raise TabNASError(f"`beta` must be finite and not positive, got {beta}")
        self.beta = beta

    def power(self, choices: IntArray) -> FloatArray:
        """Return (T(y) / T0)^beta, [...]; infinite at a cost of 0, which the controller rejects."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.cost_ratio(choices) ** self.beta)
