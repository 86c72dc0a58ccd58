"""Conformance suites for costs, engines, rewards and strategies, including custom ones."""

from __future__ import annotations

from tabnas.testing._costs import check_cost
from tabnas.testing._engines import check_engine
from tabnas.testing._reference_engine import ReferenceEngine
from tabnas.testing._rewards import check_reward
from tabnas.testing._strategies import check_strategy

__all__ = ["ReferenceEngine", "check_cost", "check_engine", "check_reward", "check_strategy"]
