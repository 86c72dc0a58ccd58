"""Rewards, one file each. `REWARDS` lists them by name."""

from __future__ import annotations

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
from tabnas.registries import by_name

REWARDS: dict[str, type[Reward]] = by_name(
    Rejection,
    Abs,
    MnasNet1,
    MnasNet2,
    MnasNetHard,
    Oblivious,
    RejectionMonteCarlo,
    RejectionUncorrected,
    Rena,
)
"""Every reward by name. Call one with the feasible set and its options. Add your own by assignment.
"""

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
