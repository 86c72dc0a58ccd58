"""REINFORCE: a policy learns from every look, by any of the rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from tabnas.errors import TabnasError, did_you_mean, whole
from tabnas.feasible import FeasibleSet
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.space import Architecture
from tabnas.strategies._strategy import Strategy
from tabnas.types import BoolArray, FloatArray, IntArray

Recommends = Literal["most likely", "seen"]


class PolicyGradient(Strategy):
    """The paper's policy and one of `tabnas.policy.REWARDS`, which is told its `reward_options`.

    By default the reward is rejection: exact if the feasible set is, else by Monte Carlo. What a
    penalty draws beyond the limit is looked at like all else, and never recommended.

    `recommend` names the most likely architectures given V, or, with `recommends="seen"`, the best
    of those looked at. `rate` is higher than that of a search of tens of thousands of steps: here
    looks are counted in hundreds.
    """

    name = "policy"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        reward: str | None = None,
        reward_options: Mapping[str, Any] | None = None,
        rate: float = 0.1,
        epsilon: float = 1e-3,
        workers: int = 1,
        recommends: Recommends = "most likely",
    ) -> None:
        super().__init__(feasible, rng=rng)
        if reward is None:
            reward = "rejection" if feasible.exact else "rejection_monte_carlo"
        if reward not in REWARDS:
            raise TabnasError(f"there is no reward {reward!r}; {did_you_mean(reward, REWARDS)}")
        if recommends not in get_args(Recommends):
            raise TabnasError(
                f"recommends must be 'most likely' or 'seen', however {recommends!r} was given"
            )
        self.recommends = recommends
        self.controller = Controller(
            REWARDS[reward](feasible, **(reward_options or {})),
            Adam(rate=rate, epsilon=epsilon),
            rng=self.rng,
            workers=workers,
        )

    def suggest(self) -> IntArray:
        return self.controller.suggest()

    def counts(self, choices: IntArray) -> BoolArray:
        return self.controller.counts(choices)

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        choices, quality = np.asarray(choices), np.asarray(quality, np.float64)
        # a worker whose quality was not asked for, such as the last one allowed, is as if not there
        known = np.isfinite(quality)
        if known.any():
            self.controller.update(choices[known], quality[known])

    def recommend(self, n: int = 1) -> list[Architecture]:
        if self.recommends == "seen":
            return super().recommend(n)
        return self.controller.policy.most_likely(whole("n", n, least=1))
