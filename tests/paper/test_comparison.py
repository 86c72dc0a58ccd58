from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

NAME = "comparison"


@pytest.mark.slow
def test_searches_beat_random_search_at_their_cost(summary: dict) -> None:
    ours = summary["strategies"][0]
    random = {one["asked"]: one["regret_of_returned"]["mean"] for one in summary["random"]}
    assert ours["regret_of_returned"]["mean"] < random[10]
    assert ours["worst"]["regret_of_returned"]["mean"] >= ours["regret_of_returned"]["mean"]
    assert ours["favourite_over"] == 0


@pytest.mark.slow
def test_what_is_returned_costs_its_candidates_too(summary: dict) -> None:
    *searches, without = summary["strategies"]
    assert without["strategy"] == "the three dearest, no search"
    assert without["search"] == 0
    assert without["in_all"] == 3
    assert without["among_the_dearest"] == 1
    for one in searches:
        assert one["in_all"] == pytest.approx(one["search"] + 3)


@pytest.mark.slow
def test_random_search_gets_better_with_more_trainings(summary: dict) -> None:
    regrets = [one["regret_of_returned"]["mean"] for one in summary["random"]]
    assert regrets == sorted(regrets, reverse=True)


@pytest.mark.slow
def test_pairs_are_of_the_same_seeds(summary: dict) -> None:
    ours, algorithm_3, penalty, _ = summary["strategies"]
    pairs = {one["strategy"]: one for one in summary["paired"]}
    [alike] = summary["like_for_like"]
    assert (alike["strategy"], alike["beside"]) == ("Abs", algorithm_3["strategy"])
    for name in ("regret_of_returned", "test_regret_of_returned"):
        more = penalty[name]["mean"] - ours[name]["mean"]
        assert pairs["Abs"][name]["more"] == pytest.approx(more)
        more = penalty[name]["mean"] - algorithm_3[name]["mean"]
        assert alike[name]["more"] == pytest.approx(more)
