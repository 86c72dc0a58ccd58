"""The ablation: rejection without a gradient through P(V)."""

from __future__ import annotations

from tabnas.policy.rewards._reward import Reward
from tabnas.types import BoolArray, IntArray


class RejectionUncorrected(Reward):
    """`J = (Q - Qbar) * log P(y)` for feasible y, 0 for others.

    The mean score of the accepted architectures is not 0, so every update also pushes the policy
    towards V or away from it, depending on the sign of the advantage (section "Ablation studies").
    """

    name = "rejection_uncorrected"
    is_unbiased = False
    rejects_infeasible = True

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)
