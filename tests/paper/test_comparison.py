from __future__ import annotations

import pytest

from tests.conftest import needs_shared

pytest.importorskip("matplotlib")

NAME = "comparison"


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
