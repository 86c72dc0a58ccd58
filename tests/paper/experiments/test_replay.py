from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli._main import run
from tabnas.paper.experiments.common import SearchProblem, load_problem
from tabnas.paper.experiments.replay._recording import Recording

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def problem() -> SearchProblem:
    return load_problem("letter", 0.1)


@pytest.mark.slow
def test_the_command_replays(tmp_path: Path) -> None:
    assert run(["paper", "replay", "--quick", "--out", str(tmp_path)]) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {one["reward"] for one in summary["settings"]} == {"rejection", "abs"}
    assert all(-5 < one["regret_of_returned"]["mean"] < 30 for one in summary["settings"])
    assert set(summary["best"]["letter"]) == {"rejection", "abs"}


def test_policies_learn_what_was_recorded(problem: SearchProblem) -> None:
    losses = np.broadcast_to(problem.truth.losses["validation"].mean(axis=1), (2, 2, 585))
    recording = Recording(problem, 0, losses, steps=300 * problem.settings(0).policy_every)
    policy = recording.replay("rejection", {"rl_learning_rate": 0.1, "warmup": 0.0}, policies=6)
    for log_p in policy.log_p:
        [found] = policy.feasible.most_likely(1, log_p)
        assert problem.scorer.regret(found) < np.nanmedian(problem.scorer.regrets) / 4


def test_a_recording_is_what_a_search_sees(problem: SearchProblem) -> None:
    recording = Recording.record(problem, 0, snapshots=4, batches=4)
    assert recording.losses.shape == (4, 4, 585)
    inside = np.isfinite(problem.scorer.regrets)
    early, *_, late = recording.losses.mean(axis=1)
    assert late[inside].mean() < early[inside].mean()
    alone = problem.truth.losses["validation"].mean(axis=1)
    assert np.corrcoef(late[inside], alone[inside])[0, 1] > 0.3
