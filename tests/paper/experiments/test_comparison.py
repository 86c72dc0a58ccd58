from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

NAME = "comparison"


@pytest.mark.slow
def test_searches_beat_random_search_at_their_cost(summary: dict) -> None:
    ours = summary["strategies"][0]
    random = {one["trainings"]: one["regret_of_returned"]["mean"] for one in summary["random"]}
    assert ours["regret_of_returned"]["mean"] < random[10]
    assert ours["worst"]["regret_of_returned"]["mean"] >= ours["regret_of_returned"]["mean"]
    assert ours["most_likely_infeasible"] == 0


@pytest.mark.slow
def test_the_total_cost_includes_the_candidates(summary: dict) -> None:
    *searches, no_search = summary["strategies"]
    assert no_search["strategy"] == "the three most expensive, no search"
    assert no_search["search_cost"] == 0
    assert no_search["total_cost"] == 3
    assert no_search["among_most_expensive"] == 1
    for strategy in searches:
        assert strategy["total_cost"] == pytest.approx(strategy["search_cost"] + 3)


@pytest.mark.slow
def test_random_search_gets_better_with_more_trainings(summary: dict) -> None:
    regrets = [one["regret_of_returned"]["mean"] for one in summary["random"]]
    assert regrets == sorted(regrets, reverse=True)


@pytest.mark.slow
def test_pairs_have_the_same_seeds(summary: dict) -> None:
    ours, algorithm_3, penalty, _ = summary["strategies"]
    pairs = {one["strategy"]: one for one in summary["paired"]}
    [pair] = summary["same_selection"]
    assert (pair["strategy"], pair["base"]) == ("Abs", algorithm_3["strategy"])
    for name in ("regret_of_returned", "test_regret_of_returned"):
        key = f"{name}_difference"
        difference = penalty[name]["mean"] - ours[name]["mean"]
        assert pairs["Abs"][key]["difference"] == pytest.approx(difference)
        difference = penalty[name]["mean"] - algorithm_3[name]["mean"]
        assert pair[key]["difference"] == pytest.approx(difference)
