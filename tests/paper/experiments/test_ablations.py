from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tabnas.paper._experiment import read_definition
from tabnas.paper.experiments.ablations import AblationsExperiment
from tabnas.paper.experiments.ablations._report import UNCHANGED
from tabnas.paper.experiments.ablations._search import AblationSearch
from tabnas.paper.experiments.common import SearchProblem, load_problem
from tabnas.search import SELECTIONS

pytest.importorskip("matplotlib")

NAME = "ablations"


@pytest.fixture(scope="module")
def letter() -> SearchProblem:
    return load_problem("letter", 0.1, epochs=1)


def by_title(base: dict[str, Any], question: str) -> dict[str, dict[str, Any]]:
    variants = [variant for variant in base["variants"] if variant["question"] == question]
    return {variant["title"]: variant for variant in variants}


@pytest.mark.slow
def test_the_report_shows_every_figure(out: Path) -> None:
    figures = {path.name for path in out.glob("*.png")}
    assert figures == {"default.png", "paper.png", "p-feasible.png"}
    report = (out / "README.md").read_text()
    assert all(f"({name})" in report for name in figures)


@pytest.mark.slow
def test_all_selection_rules_are_compared_on_the_same_searches(summary: dict[str, Any]) -> None:
    base = summary["default"]
    assert base["variants"][0]["title"] == UNCHANGED
    others = by_title(base, "selection")
    assert len(others) == len(SELECTIONS) - 1
    evaluations = {variant["evaluations"] for variant in (base["variants"][0], *others.values())}
    assert len(evaluations) == 1


@pytest.mark.slow
def test_differences_are_taken_run_values_by_run(summary: dict[str, Any]) -> None:
    for base in (summary["default"], summary["paper"]):
        first, *others = base["variants"]
        assert first["regret_of_returned_difference"]["difference"] == 0
        for variant in others:
            for name in ("regret_of_returned", "test_regret_of_returned"):
                difference = variant[name]["mean"] - first[name]["mean"]
                assert variant[f"{name}_difference"]["difference"] == pytest.approx(difference)
                assert variant[name]["runs"] == first[name]["runs"]


@pytest.mark.slow
def test_only_selection_rules_are_compared_by_the_first_candidate(summary: dict[str, Any]) -> None:
    for base in (summary["default"], summary["paper"]):
        for variant in base["variants"]:
            assert ("regret_of_first" in variant) == (variant["question"] in ("", "selection"))


@pytest.mark.slow
def test_p_feasible_falls_only_with_infeasible_rewards_in_the_average(
    summary: dict[str, Any],
) -> None:
    """The paper reports it for all searches without a gradient through P(V)."""
    variants = by_title(summary["paper"], "gradient through P(V)")
    feasible_only = variants["none"]["p_feasible"]
    with_infeasible = variants["none, infeasible rewards in the average"]["p_feasible"]
    assert feasible_only[0] == with_infeasible[0] == pytest.approx(0.1, abs=0.02)
    assert with_infeasible[-1] < with_infeasible[0] < feasible_only[-1]


def test_recording_does_not_change_the_search(letter: SearchProblem) -> None:
    settings = letter.settings(3, {"warmup": 0.5})
    recorded = AblationSearch(letter, settings, snapshots=5)
    recorded.run()
    plain = letter.search(settings)
    plain.run()
    logits = plain.controller.policy.logits
    assert (recorded.search.controller.policy.logits == logits).all()
    assert len(recorded.p_feasible) == 6


def test_every_variant_belongs_to_a_question_of_its_base() -> None:
    """Otherwise it would never be run."""
    definition = read_definition("ablations", quick=False)
    questions = {
        (name, question)
        for name, base in definition["bases"].items()
        for question in base["questions"]
    }
    variants = definition["variants"]
    assert {(variant["base"], variant["question"]) for variant in variants} <= questions
    experiment = AblationsExperiment(definition)
    assert len(experiment.variants) == len(variants) + len(definition["bases"])
    assert {job["table"] for job in experiment.jobs()} >= {"covertype", "letter"}
