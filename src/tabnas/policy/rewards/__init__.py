"""Rewards, one file each: a class with a name in a file of this folder is one of them."""

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
from tabnas.registries import classes_by_name

REWARDS: dict[str, type[Reward]] = classes_by_name(__name__, Reward, first="rejection")
"""Every reward by name: called with the feasible set and the reward's own options.

One of your own goes in by assignment.
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
