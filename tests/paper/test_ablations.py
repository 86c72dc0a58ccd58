from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tabnas.paper._experiment import read_definition
from tabnas.paper.experiments._ablated_search import AblatedSearch
from tabnas.paper.experiments._ablations_shown import UNCHANGED
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments.ablations import Ablations
from tabnas.search import SELECTIONS

pytest.importorskip("matplotlib")

NAME = "ablations"


@pytest.fixture(scope="module")
def letter() -> Judged:
    return JudgedTable("letter", None).with_max_categories(0.1, epochs=1)


def _titles(said: dict[str, Any], question: str) -> dict[str, dict[str, Any]]:
    return {one["title"]: one for one in said["variants"] if one["question"] == question}


@pytest.mark.slow
def test_the_report_shows_every_figure(out: Path) -> None:
    figures = {path.name for path in out.glob("*.png")}
    assert figures == {"default.png", "paper.png", "p-feasible.png"}
    report = (out / "README.md").read_text()
    assert all(f"({name})" in report for name in figures)


@pytest.mark.slow
def test_every_rule_of_selection_is_judged_on_the_same_searches(summary: dict[str, Any]) -> None:
    said = summary["default"]
    assert said["variants"][0]["title"] == UNCHANGED
    others = _titles(said, "selection")
    assert len(others) == len(SELECTIONS) - 1
    looks = {one["looks"] for one in others.values()} | {said["variants"][0]["looks"]}
    assert len(looks) == 1


@pytest.mark.slow
def test_differences_are_taken_run_by_run(summary: dict[str, Any]) -> None:
    for said in (summary["default"], summary["paper"]):
        first, *others = said["variants"]
        assert first["regret_of_returned_more"]["more"] == 0
        for one in others:
            for name in ("regret_of_returned", "test_regret_of_returned"):
                more = one[name]["mean"] - first[name]["mean"]
                assert one[f"{name}_more"]["more"] == pytest.approx(more)
                assert one[name]["runs"] == first[name]["runs"]


@pytest.mark.slow
def test_what_comes_first_is_a_matter_of_selection(summary: dict[str, Any]) -> None:
    for said in (summary["default"], summary["paper"]):
        for one in said["variants"]:
            assert ("regret_of_first" in one) == (one["question"] in ("", "selection"))


@pytest.mark.slow
def test_p_feasible_falls_only_if_the_average_knows_infeasible_ones(
    summary: dict[str, Any],
) -> None:
    """What the paper reports of a search without a gradient through P(V), and when it is so."""
    variants = _titles(summary["paper"], "gradient through P(V)")
    feasible_alone = variants["none"]["p_feasible"]
    of_all = variants["none, infeasible ones in the average"]["p_feasible"]
    assert feasible_alone[0] == of_all[0] == pytest.approx(0.1, abs=0.02)
    assert of_all[-1] < of_all[0] < feasible_alone[-1]


def test_to_watch_changes_nothing(letter: Judged) -> None:
    settings = letter.settings(3, {"warmup": 0.5})
    watched = AblatedSearch(letter, settings, moments=5)
    watched.run()
    alone = letter.search(settings)
    alone.run()
    theirs = alone.controller.policy.logits
    assert (watched.search.controller.policy.logits == theirs).all()
    assert len(watched.p_feasible) == 6


def test_every_change_is_a_setting_of_its_base() -> None:
    """A question that no base asks, or a base that is not there, would never be run."""
    said = read_definition("ablations", quick=False)
    asked = {(base, question) for base, of in said["bases"].items() for question in of["questions"]}
    assert {(one["base"], one["question"]) for one in said["variants"]} <= asked
    experiment = Ablations(said)
    assert len(experiment.variants) == len(said["variants"]) + len(said["bases"])
    assert {job["table"] for job in experiment.jobs()} >= {"covertype", "letter"}
