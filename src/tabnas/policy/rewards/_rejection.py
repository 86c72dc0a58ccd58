"""Rejection with the exact P(V): the paper's reward without its Monte Carlo."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.policy._policy import Policy
from tabnas.policy.rewards._reward import Reward
from tabnas.types import BoolArray, FloatArray, IntArray


class Rejection(Reward):
    """`J = (Q - Qbar) * log P(y | V)` (Equation 1), with exact marginals as the expectation.

    NOTE[DIFF]: the paper draws from the policy and drops what is infeasible; here y is drawn from
    P(. | V), which is the same distribution and wastes no step. `draw="policy"` is the paper's way.
    """

    name = "rejection"
    rejects = True

    def __init__(
        self, feasible: FeasibleSet, *, draw: Literal["feasible", "policy"] = "feasible"
    ) -> None:
        super().__init__(feasible)
        if draw not in ("feasible", "policy"):
            raise TabnasError(f"draw must be 'feasible' or 'policy', however {draw!r} was given")
        if not feasible.exact:
            raise TabnasError(
                "this feasible set is known by samples only, and exact rejection needs more: "
                "use the reward 'rejection_monte_carlo'"
            )
        self.from_feasible = draw == "feasible"

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        if self.from_feasible:
            return policy.conditional.sample(n, rng)
        return super().draw(policy, n, rng)

    def counts(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)

    def expectation(self, policy: Policy, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        # grad log P(y | V) = 1[y_i = j] - P(Y_i = j | V)
        known = np.ones(policy.log_p.shape[:-2], dtype=np.bool_)
        return policy.conditional.marginals, known
