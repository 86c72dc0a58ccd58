"""The absolute value reward of TuNAS."""

from __future__ import annotations

import numpy as np

from tabnas.policy.rewards._reward import BetaReward
from tabnas.types import FloatArray, IntArray


class Abs(BetaReward):
    """`r = Q + beta * |T / T0 - 1|`, beta < 0."""

    name = "abs"

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return quality + self.beta * np.abs(self.cost_ratio(choices) - 1)
