"""The first reward of MnasNet."""

from __future__ import annotations

from tabnas.policy.rewards._reward import BetaReward
from tabnas.types import FloatArray, IntArray


class MnasNet1(BetaReward):
    """`r = Q * (T / T0)^beta`, beta < 0; for a negative Q see `PenaltyReward.weigh`."""

    name = "mnasnet_1"

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return self.weigh(quality, self.power(choices))
