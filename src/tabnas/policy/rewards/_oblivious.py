"""The reward that ignores the limit: resource-oblivious REINFORCE (Algorithm 1)."""

from __future__ import annotations

from tabnas.policy.rewards._reward import Reward


class Oblivious(Reward):
    """`r = Q`, for architectures of any cost."""

    name = "oblivious"
