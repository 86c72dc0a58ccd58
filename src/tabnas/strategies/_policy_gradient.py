"""REINFORCE: a policy that learns from every evaluation, with any of the rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.feasible import FeasibleSet
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.space import Architecture
from tabnas.strategies._strategy import Strategy
from tabnas.types import BoolArray, FloatArray, IntArray

RecommendBy = Literal["most likely", "seen"]


class PolicyGradient(Strategy):
    """The paper's policy with one of `tabnas.policy.REWARDS` and its `reward_options`.

    By default the reward is rejection, exact if the feasible set is, else by Monte Carlo.
    Infeasible architectures that a penalty reward samples are evaluated, but never recommended.

    `recommend` returns the most likely architectures given V or, with `recommend_by="seen"`, the
    best of those evaluated. The default `learning_rate` is higher than that of a search with tens
    of thousands of steps, since strategies make hundreds of evaluations.
    """

    name = "policy"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        reward: str | None = None,
        reward_options: Mapping[str, Any] | None = None,
        learning_rate: float = 0.1,
        epsilon: float = 1e-3,
        workers: int = 1,
        recommend_by: RecommendBy = "most likely",
    ) -> None:
        super().__init__(feasible, rng=rng)
        if reward is None:
            reward = "rejection" if feasible.is_exact else "rejection_monte_carlo"
        if reward not in REWARDS:
            raise TabNASError(f"there is no reward {reward!r}; {did_you_mean(reward, REWARDS)}")
        if recommend_by not in get_args(RecommendBy):
            raise TabNASError(
                f"`recommend_by` must be 'most likely' or 'seen', got {recommend_by!r}"
            )
        self.recommend_by = recommend_by
        self.controller = Controller(
            REWARDS[reward](feasible, **(reward_options or {})),
            Adam(learning_rate=learning_rate, epsilon=epsilon),
            rng=self.rng,
            workers=workers,
        )

    def suggest(self) -> IntArray:
        return self.controller.suggest()

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return self.controller.needs_evaluation(choices)

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        choices, quality = np.asarray(choices), np.asarray(quality, np.float64)
        # workers without a quality, beyond the last evaluation allowed, are ignored
        known = np.isfinite(quality)
        if known.any():
            self.controller.update(choices[known], quality[known])

    def recommend(self, n: int = 1) -> list[Architecture]:
        if self.recommend_by == "seen":
            return super().recommend(n)
        return self.controller.policy.most_likely(check_int("n", n, minimum=1))
