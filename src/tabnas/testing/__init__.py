"""Conformance suites: what every cost, engine, reward and strategy must do, also a user's own."""

from __future__ import annotations

from tabnas.testing._costs import check_cost
from tabnas.testing._engines import check_engine
from tabnas.testing._reference import ReferenceEngine
from tabnas.testing._rewards import check_reward
from tabnas.testing._strategies import check_strategy

__all__ = ["ReferenceEngine", "check_cost", "check_engine", "check_reward", "check_strategy"]
