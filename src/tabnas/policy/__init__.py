"""The policy over architectures, its rewards, and REINFORCE."""

from __future__ import annotations

from tabnas.policy._ascent import SGD, Adam, Ascent, Climber
from tabnas.policy._controller import Baseline, Controller, Step
from tabnas.policy._moving_average import MovingAverage
from tabnas.policy._policy import Policy
from tabnas.policy.rewards import (
    REWARDS,
    Abs,
    BetaReward,
    MnasNet1,
    MnasNet2,
    MnasNetHard,
    Oblivious,
    PenaltyReward,
    Rejection,
    RejectionMonteCarlo,
    RejectionUncorrected,
    Rena,
    Reward,
)

__all__ = [
    "REWARDS",
    "SGD",
    "Abs",
    "Adam",
    "Ascent",
    "Baseline",
    "BetaReward",
    "Climber",
    "Controller",
    "MnasNet1",
    "MnasNet2",
    "MnasNetHard",
    "MovingAverage",
    "Oblivious",
    "PenaltyReward",
    "Policy",
    "Rejection",
    "RejectionMonteCarlo",
    "RejectionUncorrected",
    "Rena",
    "Reward",
    "Step",
]
