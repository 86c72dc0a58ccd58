"""The second reward of MnasNet, as the TabNAS paper prints it."""

from __future__ import annotations

import numpy as np

from tabnas.policy.rewards._reward import BetaReward
from tabnas.types import FloatArray, IntArray


class MnasNet2(BetaReward):
    """`r = Q * max(1, (T / T0)^beta)`, beta < 0.

    As printed it rewards architectures under the limit and never penalizes those over it, which
    fits the tiny architectures that the paper reports. `MnasNetHard` is the form with a minimum.
    `PenaltyReward.weigh` describes the case of a negative Q.
    """

    name = "mnasnet_2"

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return self.weigh(quality, np.maximum(1, self.power(choices)))
