from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.paper.experiments._agreement import pearson, spearman
from tabnas.paper.experiments._judged import NEVER, JudgedTable
from tabnas.search import compute_one_shot_losses

pytest.importorskip("matplotlib")

NAME = "calibration"

VALUES = st.lists(st.integers(-50, 50), min_size=3, max_size=30)


@pytest.mark.slow
def test_supernets_foretell_stand_alone_losses(summary: dict[str, Any]) -> None:
    assert len(summary["ranking"]) == 3
    for row in summary["ranking"]:
        assert row["seeds_pearson"] > 0.95  # ground truth is hardly noisy
        for name in ("all", "full", "feasible"):
            assert 0.4 < row[f"{name}_pearson"] < row["seeds_pearson"]
            assert 0.4 < row[f"{name}_spearman"] < 1
        assert row["lowest_regret"] >= 0


@pytest.mark.slow
def test_late_rl_is_judged_by_what_is_feasible(out: Path, summary: dict[str, Any]) -> None:
    assert [row["title"] for row in summary["late"]] == ["Abs, beta = -0.5", "rejection, exact"]
    for row in summary["late"]:
        assert 0 <= row["regret_of_first"] < 30
        assert row["favourite_infeasible"] in (0, 1)
    [paired] = summary["late_paired"]
    means = {row["title"]: row["regret_of_first"] for row in summary["late"]}
    more = means["rejection, exact"] - means[paired["title"]]
    assert paired["regret_of_first"]["more"] == pytest.approx(more)
    text = (out / "README.md").read_text()
    assert "The paper" in text
    assert (out / "one-shot.svg").exists()
    assert (out / "late.png").exists()


def test_the_policy_has_no_say_in_the_default_s_weights() -> None:
    """The report leaves out the default without RL for this reason."""
    judged = JudgedTable("letter", None).with_max_categories(0.25, epochs=1)
    some = judged.truth.architectures[1::100]
    losses = []
    for start in (None, NEVER):
        search = judged.search(judged.settings(0, {"policy_start": start}))
        search.run()
        assert bool(search.history.evaluations) == (start is None)
        losses.append(compute_one_shot_losses(search, some))
    assert np.array_equal(*losses)


@given(VALUES, st.randoms(use_true_random=False))
def test_correlations_are_those_of_numpy(values: list[int], random: Any) -> None:
    other = [value + random.randint(-20, 20) for value in values]
    if len(set(values)) < 2 or len(set(other)) < 2:
        assert pearson(values, other) == 0
        return
    assert pearson(values, other) == pytest.approx(np.corrcoef(values, other)[0, 1], abs=1e-9)


@given(VALUES)
def test_ranks_ask_for_order_alone(values: list[int]) -> None:
    if len(set(values)) < 2:
        return
    assert spearman(values, [value**3 for value in values]) == pytest.approx(1)
    assert spearman(values, [-value for value in values]) == pytest.approx(-1)


def test_ties_share_their_rank() -> None:
    # ranks 0.5, 0.5, 2 and 0, 1, 2: r = 1.5 / sqrt(1.5 * 2)
    assert spearman([1, 1, 5], [1, 2, 3]) == pytest.approx(np.sqrt(3) / 2)
