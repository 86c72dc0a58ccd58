from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tabnas.paper.experiments.rewards._summary import (
    REFERENCE,
    summarize_searches,
    summarize_totals,
)

RNG = np.random.default_rng(0)
LOW, HIGH = (mean + 0.01 * RNG.normal(size=5) for mean in (0.47, 0.52))


def row(title: str, name: str, losses: np.ndarray, *, cost_ratio: float = 0.9) -> dict[str, Any]:
    return {
        "part": "search",
        "table": "criteo",
        "title": title,
        "rl_learning_rate": 0.01,
        "architecture": name,
        "parameters": 100,
        "cost_ratio": cost_ratio,
        "bottleneck": False,
        "losses": losses.tolist(),
        "errors": [0.5] * len(losses),
    }


def rewards(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    reference = row(REFERENCE, "8-8-8", LOW, cost_ratio=1.0)
    [table] = summarize_searches([reference, *rows], {})
    return {one["title"]: one for one in table["rewards"]}


def test_two_rewards_are_compared_by_the_errors_of_their_means() -> None:
    found = rewards(row("low", "8-8-16", LOW), row("high", "8-16-8", HIGH))
    assert found["low"]["p"] == 1
    assert found["high"]["p"] == pytest.approx(ttest_ind(HIGH, LOW, equal_var=False).pvalue)
    assert found["high"]["worse"]
    assert not found["low"]["worse"]


def test_finding_an_architecture_twice_does_not_reduce_the_error() -> None:
    """It was trained with the same seeds both times."""
    twice = rewards(*[row("twice", "8-8-16", HIGH)] * 2)["twice"]
    once = rewards(row("once", "8-8-16", HIGH))["once"]
    assert twice["standard_error"] == pytest.approx(once["standard_error"])
    assert twice["standard_error"] == pytest.approx(HIGH.std(ddof=1) / 5**0.5)


def test_architectures_over_the_limit_are_counted_but_not_compared() -> None:
    rows = [
        row(REFERENCE, "8-8-8", LOW, cost_ratio=1.0),
        row("within", "8-8-16", HIGH),
        row("over", "16-16-16", LOW, cost_ratio=1.5),
    ]
    [within, over] = summarize_totals(summarize_searches(rows, {}))
    assert (within["over"], within["lowest"], within["worse"]) == (0, ["criteo"], [])
    assert (over["over"], over["compared"], over["lowest"]) == (1, 0, [])
