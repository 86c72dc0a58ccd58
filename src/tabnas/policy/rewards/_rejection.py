"""Rejection with the exact P(V): the paper's reward without Monte Carlo."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.policy._policy import Policy
from tabnas.policy.rewards._reward import Reward
from tabnas.types import BoolArray, FloatArray, IntArray


class Rejection(Reward):
    """`J = (Q - Qbar) * log P(y | V)` (Equation 1), with exact marginals as the expectation.

    NOTE[DIFF]: the paper draws from the policy and drops infeasible architectures. Here y is drawn
    from P(. | V), which is the same distribution and wastes no step. With `sample_from="policy"`,
    y is drawn as in the paper.
    """

    name = "rejection"
    rejects_infeasible = True

    def __init__(
        self, feasible: FeasibleSet, *, sample_from: Literal["feasible", "policy"] = "feasible"
    ) -> None:
        super().__init__(feasible)
        if sample_from not in ("feasible", "policy"):
            raise TabNASError(f"`sample_from` must be 'feasible' or 'policy', got {sample_from!r}")
        if not feasible.is_exact:
            raise TabNASError(
                "the reward 'rejection' needs an exact feasible set, but this one is estimated "
                "from samples; use the reward 'rejection_monte_carlo'"
            )
        self.sample_from = sample_from

    def sample(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        if self.sample_from == "feasible":
            return policy.conditional.sample(n, rng)
        return super().sample(policy, n, rng)

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)

    def expectation(self, policy: Policy, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        # grad log P(y | V) = 1[y_i = j] - P(Y_i = j | V)
        known = np.ones(policy.log_p.shape[:-2], dtype=np.bool_)
        return policy.conditional.marginals, known
