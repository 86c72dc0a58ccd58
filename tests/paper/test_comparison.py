from __future__ import annotations

import json

import pytest

from tabnas.cli._main import run
from tests.conftest import SHARED, needs_shared

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict:
    out = tmp_path_factory.mktemp("comparison")
    data = str(SHARED / "data")
    assert run(["paper", "comparison", "--quick", "--data", data, "--out", str(out)]) == 0
    return json.loads((out / "summary.json").read_text())


@needs_shared
def test_searches_beat_random_search_at_their_cost(summary: dict) -> None:
    ours = summary["strategies"][0]
    random = {one["asked"]: one["regret"] for one in summary["random"]}
    assert ours["regret"] < random[10]
    assert ours["worst"]["regret"] >= ours["regret"]
    assert ours["likeliest_feasible"] == 1


@needs_shared
def test_random_search_gets_better_with_more_trainings(summary: dict) -> None:
    regrets = [one["regret"] for one in summary["random"]]
    assert regrets == sorted(regrets, reverse=True)


@needs_shared
def test_pairs_are_of_the_same_seeds(summary: dict) -> None:
    ours, other = summary["strategies"]
    [paired] = summary["paired"]
    assert paired["more"] == pytest.approx(other["regret"] - ours["regret"])
