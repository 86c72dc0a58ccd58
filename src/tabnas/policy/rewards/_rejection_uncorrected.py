"""The ablation: rejection without a gradient through P(V)."""

from __future__ import annotations

from tabnas.policy.rewards._reward import Reward
from tabnas.types import BoolArray, IntArray


class RejectionUncorrected(Reward):
    """`J = (Q - Qbar) * log P(y)` for feasible y, nothing for others.

    The score no longer has mean 0 over what is accepted, so every update also pushes the policy
    towards V or away from it, by the sign of the advantage (section "Ablation studies").
    """

    name = "rejection_uncorrected"
    unbiased = False
    rejects = True

    def counts(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)
