"""The hard reward of the MnasNet paper."""

from __future__ import annotations

import numpy as np

from tabnas.policy.rewards._reward import BetaReward
from tabnas.types import FloatArray, IntArray


class MnasNetHard(BetaReward):
    """`r = Q * min(1, (T / T0)^beta)`, beta < 0: a penalty over the limit only.

    `PenaltyReward.weigh` describes the case of a negative Q.
    """

    name = "mnasnet_hard"

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return self.weigh(quality, np.minimum(1, self.power(choices)))
