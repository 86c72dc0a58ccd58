from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tabnas.paper.experiments._rewards_summary import REFERENCE, found_by_reward, totals

RNG = np.random.default_rng(0)
LOW, HIGH = (mean + 0.01 * RNG.normal(size=5) for mean in (0.47, 0.52))


def row(title: str, name: str, losses: np.ndarray, *, load: float = 0.9) -> dict[str, Any]:
    return {
        "part": "search",
        "table": "criteo",
        "title": title,
        "rate": 0.01,
        "architecture": name,
        "parameters": 100,
        "load": load,
        "bottleneck": False,
        "losses": losses.tolist(),
        "errors": [0.5] * len(losses),
    }


def rewards(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    reference = row(REFERENCE, "8-8-8", LOW, load=1.0)
    [table] = found_by_reward([reference, *rows], {"epochs": {}})
    return {one["title"]: one for one in table["rewards"]}


def test_two_rewards_are_compared_by_the_errors_of_their_means() -> None:
    found = rewards(row("low", "8-8-16", LOW), row("high", "8-16-8", HIGH))
    assert found["low"]["p"] == 1
    assert found["high"]["p"] == pytest.approx(ttest_ind(HIGH, LOW, equal_var=False).pvalue)
    assert found["high"]["worse"]
    assert not found["low"]["worse"]


def test_what_is_found_twice_says_nothing_new() -> None:
    """It was trained with the same seeds, so its mean is no better known."""
    twice = rewards(*[row("twice", "8-8-16", HIGH)] * 2)["twice"]
    once = rewards(row("once", "8-8-16", HIGH))["once"]
    assert twice["standard_error"] == pytest.approx(once["standard_error"])
    assert twice["standard_error"] == pytest.approx(HIGH.std(ddof=1) / 5**0.5)


def test_what_is_over_the_limit_is_counted_and_not_judged() -> None:
    rows = [
        row(REFERENCE, "8-8-8", LOW, load=1.0),
        row("keeps it", "8-8-16", HIGH),
        row("breaks it", "16-16-16", LOW, load=1.5),
    ]
    [keeps, breaks] = totals(found_by_reward(rows, {"epochs": {}}))
    assert (keeps["over"], keeps["lowest"], keeps["worse"]) == (0, ["criteo"], [])
    assert (breaks["over"], breaks["judged"], breaks["lowest"]) == (1, 0, [])
