"""The regret that the default is judged by."""

from __future__ import annotations

import pytest


def test_regret_is_measured_by_seeds_that_chose_nothing() -> None:
    from regret import find_finalists, pool, summarize

    sample = [f"{width}" for width in range(8, 28)]
    losses = {name: [0.5 + 0.01 * k] * 3 for k, name in enumerate(sample)}
    content = {
        "runs": {"0": dict.fromkeys(("default", "search alone", "equal layers alone"), "9")},
        "sample": sample,
        "losses": losses,
        "final_losses": {name: [0.60, 0.62] for name in sample[:10]} | {"9": [0.59, 0.61]},
    }
    assert find_finalists(content) == sample[:10]
    summary = summarize(content)
    assert summary["best"] == pytest.approx(0.60)
    assert summary["deviation"] == pytest.approx(0.02 / 2**0.5)
    assert summary["regrets"]["default"] == [pytest.approx(0)]
    means = pool({"letter": summary, "adult": summary})
    assert means["default"] == {"mean": pytest.approx(0), "near_best": 1.0}
    assert means["a random network"]["mean"] == pytest.approx((0.595 - 0.60) / (0.02 / 2**0.5))
