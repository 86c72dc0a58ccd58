"""The reward of RENA."""

from __future__ import annotations

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.policy.rewards._reward import PenaltyReward
from tabnas.types import FloatArray, IntArray


class Rena(PenaltyReward):
    """`r = Q * p^v`, v = max(0, T / T0 - 1) the relative violation, p in [0, 1] the base penalty.

    NOTE[DIFF]: the TabNAS paper cites RENA's Equation 3 without printing it; this is our reading.
    `PenaltyReward.weigh` describes the case of a negative Q.
    """

    name = "rena"

    def __init__(self, feasible: FeasibleSet, *, penalty: float = 0.5) -> None:
        super().__init__(feasible)
        if not 0 <= penalty <= 1:
            raise TabNASError(f"`penalty` must be in [0, 1], got {penalty}")
        self.penalty = penalty

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return self.weigh(quality, self.penalty ** np.maximum(0, self.cost_ratio(choices) - 1))
