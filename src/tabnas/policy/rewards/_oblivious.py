"""No answer to the limit: resource-oblivious REINFORCE (Algorithm 1)."""

from __future__ import annotations

from tabnas.policy.rewards._reward import Reward


class Oblivious(Reward):
    """`r = Q`, whatever the architecture costs."""

    name = "oblivious"
