from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli._main import run
from tabnas.paper._experiment import read_definition
from tabnas.paper.experiments.rewards._grid import BetaGridReward, GridReplay
from tabnas.policy import REWARDS

pytest.importorskip("matplotlib")

GRID = read_definition("rewards", quick=True)["grid"]


@pytest.fixture(scope="module")
def replay() -> GridReplay:
    return GridReplay("letter", None, GRID)


def test_the_reference_is_the_best_within_its_cost(replay: GridReplay) -> None:
    inside = replay.costs <= replay.limit
    assert replay.losses[replay.reference] == replay.losses[inside].min()
    assert replay.costs[replay.reference] == replay.limit
    assert replay.near[replay.reference]
    assert replay.matching[replay.reference]
    assert not replay.matching[replay.losses.argmax()]


@pytest.mark.parametrize("reward", ["abs", "mnasnet_1", "mnasnet_2"])
def test_the_grid_reward_equals_single_rewards(replay: GridReplay, reward: str) -> None:
    betas = [-0.01, -0.5, -3.0]
    rng = np.random.default_rng(0)
    choices = replay.truth.choices[rng.integers(len(replay.truth.choices), size=(3, 7, 1))]
    quality = rng.normal(size=(3, 7, 1))
    together = BetaGridReward(replay, REWARDS[reward], betas).value(quality, choices)
    for k, beta in enumerate(betas):
        alone = REWARDS[reward](replay.feasible, beta=beta).value(quality[k], choices[k])
        np.testing.assert_allclose(together[k], alone)


@pytest.mark.slow
def test_the_command_reports_what_rewards_find(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rewards"
    assert run(["paper", "rewards", "--quick", "--out", str(out)]) == 0
    assert "volkert" in capsys.readouterr().out  # its file is missing
    summary = json.loads((out / "summary.json").read_text())

    (higgs,) = summary["searches"]
    found = {one["title"]: one for one in higgs["rewards"]}
    assert higgs["reference"]["architecture"] == "16-144-16"
    assert higgs["reference"]["cost_ratio"] == 1
    assert higgs["reference"]["bottleneck"]
    assert found["rejection, exact (ours)"]["feasible"] == 1
    assert found["none"]["feasible"] == 0  # it ignores the limit
    assert found["none"]["loss"] is None
    assert found["Abs"]["option_value"] in (-0.2, -1.0)

    (letter,) = summary["grid"]
    assert letter["noise"] > 0
    shares = {one["title"]: one for one in letter["rewards"]}
    exact = shares["rejection, exact"]
    assert exact["feasible"] == 1
    assert exact["near"] > max(shares[title]["near"] for title in ("Abs", "MnasNet 1"))
    assert shares["MnasNet 1"]["near"] < 0.1  # the paper: under 1 %
    assert np.shape(shares["Abs"]["by_setting"]["near"]) == (2, 3)
    names = {path.name for path in out.iterdir()}
    figures = {f"{name}.{kind}" for name in ("found", "grid-letter") for kind in ("png", "svg")}
    assert names == {"README.md", "rows.parquet", "summary.json", *figures}
