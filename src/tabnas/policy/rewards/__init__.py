"""Rewards, one file each. A new one is one subclass and one line here."""

from __future__ import annotations

from collections.abc import Callable

from tabnas.policy.rewards._abs import Abs
from tabnas.policy.rewards._mnasnet_1 import MnasNet1
from tabnas.policy.rewards._mnasnet_2 import MnasNet2
from tabnas.policy.rewards._mnasnet_hard import MnasNetHard
from tabnas.policy.rewards._oblivious import Oblivious
from tabnas.policy.rewards._rejection import Rejection
from tabnas.policy.rewards._rejection_monte_carlo import RejectionMonteCarlo
from tabnas.policy.rewards._rejection_uncorrected import RejectionUncorrected
from tabnas.policy.rewards._rena import Rena
from tabnas.policy.rewards._reward import BetaReward, PenaltyReward, Reward

REWARDS: dict[str, Callable[..., Reward]] = {
    reward.name: reward
    for reward in (
        Rejection,
        RejectionMonteCarlo,
        RejectionUncorrected,
        Abs,
        MnasNet1,
        MnasNet2,
        MnasNetHard,
        Rena,
        Oblivious,
    )
}
"""Every reward by name: called with the feasible set and the reward's own options."""

__all__ = [
    "REWARDS",
    "Abs",
    "BetaReward",
    "MnasNet1",
    "MnasNet2",
    "MnasNetHard",
    "Oblivious",
    "PenaltyReward",
    "Rejection",
    "RejectionMonteCarlo",
    "RejectionUncorrected",
    "Rena",
    "Reward",
]
