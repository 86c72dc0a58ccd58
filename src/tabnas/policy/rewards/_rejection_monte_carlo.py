"""Rejection with P(V) estimated by sampling: Algorithm 2."""

from __future__ import annotations

import numpy as np

from tabnas.errors import check_int
from tabnas.feasible import FeasibleSet, Logits
from tabnas.policy._policy import Policy
from tabnas.policy.rewards._reward import Reward
from tabnas.types import BoolArray, FloatArray, IntArray


class RejectionMonteCarlo(Reward):
    """`J = (Q - Qbar) * log(P(y) / Phat(V))`, y from the policy, dropped if infeasible.

    `samples` is the paper's N, `proposal` the logits of q; by default q is the policy. A step whose
    samples are all infeasible is skipped, since its estimate is 0 and has no logarithm.
    """

    name = "rejection_monte_carlo"
    rejects_infeasible = True

    def __init__(
        self, feasible: FeasibleSet, *, samples: int = 3_072, proposal: Logits = None
    ) -> None:
        super().__init__(feasible)
        self.samples = check_int("samples", samples, minimum=1)
        self.proposal = proposal

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)

    def expectation(self, policy: Policy, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        # grad log Phat(V) + p = sum_feasible w_k 1[z_ki = j] / sum_feasible w_k, w = p / q
        estimate = self.feasible.estimate(
            policy.log_p, samples=self.samples, rng=rng, proposal=self.proposal
        )
        return estimate.marginals, estimate.usable
