"""Conformance suites: what every cost, reward and strategy must do, also a user's own."""

from __future__ import annotations

from tabnas.testing._costs import check_cost
from tabnas.testing._rewards import check_reward
from tabnas.testing._strategies import check_strategy

__all__ = ["check_cost", "check_reward", "check_strategy"]
