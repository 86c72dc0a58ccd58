"""The policy over architectures, its rewards, and REINFORCE."""

from __future__ import annotations

from tabnas.policy._controller import Baseline, Controller, PolicyUpdate
from tabnas.policy._moving_average import MovingAverage
from tabnas.policy._optimizer import SGD, Adam, PolicyOptimizer, PolicyOptimizerState
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
    "Baseline",
    "BetaReward",
    "Controller",
    "MnasNet1",
    "MnasNet2",
    "MnasNetHard",
    "MovingAverage",
    "Oblivious",
    "PenaltyReward",
    "Policy",
    "PolicyOptimizer",
    "PolicyOptimizerState",
    "PolicyUpdate",
    "Rejection",
    "RejectionMonteCarlo",
    "RejectionUncorrected",
    "Rena",
    "Reward",
]
