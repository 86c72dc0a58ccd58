from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli._main import run
from tabnas.paper._judged import JudgedTable
from tabnas.paper._recorded import Recording
from tests.conftest import SHARED, needs_shared

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def table() -> JudgedTable:
    return JudgedTable("letter", SHARED / "data")


@needs_shared
def test_the_command_replays(tmp_path: Path) -> None:
    data = str(SHARED / "data")
    assert run(["paper", "replay", "--quick", "--data", data, "--out", str(tmp_path)]) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {one["reward"] for one in summary["settings"]} == {"rejection", "abs"}
    assert all(one["regret"] >= 0 for one in summary["settings"])
    assert set(summary["best"]["letter"]) == {"rejection", "abs"}


@needs_shared
def test_policies_learn_what_was_recorded(table: JudgedTable) -> None:
    truth = table.truth
    losses = np.broadcast_to(truth.losses["validation"].mean(axis=1), (2, 2, 585))
    recording = Recording(table, table.budget(0.25), 0, losses, steps=300)
    policy = recording.replay("rejection", {"rl_rate": 0.1, "warmup": 0.0}, policies=6)
    regrets = truth.regrets(recording.budget)
    for log_p in policy.log_p:
        [found] = policy.feasible.most_likely(1, log_p)
        assert regrets[table.places([found])[0]] < np.nanmedian(regrets) / 4


@needs_shared
def test_a_recording_is_what_a_search_sees(table: JudgedTable) -> None:
    recording = Recording.make(table, 0.1, 0, moments=4, batches=4)
    assert recording.losses.shape == (4, 4, 585)
    inside = np.isfinite(table.truth.regrets(recording.budget))
    early, *_, late = recording.losses.mean(axis=1)
    assert late[inside].mean() < early[inside].mean()
    alone = table.truth.losses["validation"].mean(axis=1)
    assert np.corrcoef(late[inside], alone[inside])[0, 1] > 0.3


@needs_shared
def test_a_run_returns_the_best_of_one_training_each(table: JudgedTable) -> None:
    truth = table.truth
    regrets = truth.regrets(table.budget(0.9))
    some = [truth.architectures[k] for k in np.flatnonzero(np.isfinite(regrets))[[5, 50, 100]]]
    for seed in range(4):
        found = table.judge(some, regrets, seed=seed)
        losses = truth.losses["validation"][table.places(some), seed % 3]
        assert found["returned"] == str(some[int(losses.argmin())])
        assert found["regret_of_best_candidate"] <= found["regret"]
