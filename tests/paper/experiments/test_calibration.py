from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.paper.experiments.common import NEVER, load_problem
from tabnas.search import compute_one_shot_losses

pytest.importorskip("matplotlib")

NAME = "calibration"


@pytest.mark.slow
def test_one_shot_losses_correlate_with_stand_alone_losses(summary: dict[str, Any]) -> None:
    assert len(summary["ranking"]) == 3
    for row in summary["ranking"]:
        assert row["seeds_pearson"] > 0.95  # the ground truth has little noise
        for name in ("all", "full", "feasible"):
            assert 0.4 < row[f"{name}_pearson"] < row["seeds_pearson"]
            assert 0.4 < row[f"{name}_spearman"] < 1
        assert row["lowest_regret"] >= 0


@pytest.mark.slow
def test_late_rl_is_compared_by_regret(out: Path, summary: dict[str, Any]) -> None:
    assert [row["title"] for row in summary["late"]] == ["Abs, beta = -0.5", "rejection, exact"]
    for row in summary["late"]:
        assert 0 <= row["regret_of_first"] < 30
        assert row["most_likely_infeasible"] in (0, 1)
    [paired] = summary["late_paired"]
    means = {row["title"]: row["regret_of_first"] for row in summary["late"]}
    difference = means["rejection, exact"] - means[paired["title"]]
    assert paired["regret_of_first"]["difference"] == pytest.approx(difference)
    text = (out / "README.md").read_text()
    assert "The paper" in text
    assert (out / "one-shot.svg").exists()
    assert (out / "late.png").exists()


def test_the_policy_does_not_influence_the_weights_by_default() -> None:
    """The report omits the default without RL for this reason."""
    problem = load_problem("letter", 0.25, epochs=1)
    architectures = problem.truth.architectures[1::100]
    losses = []
    for start in (None, NEVER):
        search = problem.search(problem.settings(0, {"policy_start": start}))
        search.run()
        assert bool(search.history.evaluations) == (start is None)
        losses.append(compute_one_shot_losses(search, architectures))
    assert np.array_equal(*losses)
