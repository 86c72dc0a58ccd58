"""Conformance suites: what every cost and reward must do, also a user's own."""

from __future__ import annotations

from tabnas.testing._costs import check_cost
from tabnas.testing._rewards import check_reward

__all__ = ["check_cost", "check_reward"]
