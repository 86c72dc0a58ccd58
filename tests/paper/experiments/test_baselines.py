from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas.paper._experiment import read_definition
from tabnas.paper._ground_truth import load_ground_truth
from tabnas.paper.experiments.baselines import BaselinesExperiment
from tabnas.paper.experiments.baselines._equal_cost import EqualCost
from tabnas.paper.experiments.common import (
    OneShotQuality,
    SearchProblem,
    filter_by_ground_truth,
    load_problem,
)
from tabnas.space import Architecture
from tabnas.strategies import STRATEGIES
from tests.criteo import make_criteo

pytest.importorskip("matplotlib")

NAME = "baselines"


def DATA(folder: Path) -> Path:  # noqa: N802
    """Write a table with the columns of Criteo, which does not come with tabnas."""
    pq.write_table(make_criteo(1_500), folder / "criteo.parquet")
    return folder


@pytest.fixture(scope="module")
def letter() -> SearchProblem:
    return load_problem("letter", 0.25, epochs=1)


@pytest.mark.slow
def test_all_methods_cost_as_much_as_the_default_search(out: Path) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    searches = [row for row in rows if row["part"] == "methods" and row["rows_evaluated"]]
    for seed in (0, 1):
        costs = {row["method"]: row["rows_evaluated"] for row in searches if row["seed"] == seed}
        budget = costs["default search"]
        assert len(costs) == 4
        assert all(budget - 2_048 < cost <= budget for cost in costs.values())


@pytest.mark.slow
def test_methods_are_compared_with_the_default_search(summary: dict[str, Any]) -> None:
    first, *others = summary["methods"]
    assert first["title"] == "default search"
    assert first["by_rule"] == first["regret_of_returned"]  # the rule is its own
    for method in others:
        for name in ("regret_of_returned", "test_regret_of_returned"):
            comparison = method[f"{name}_difference"]
            difference = method[name]["mean"] - first[name]["mean"]
            assert comparison["difference"] == pytest.approx(difference)
            assert comparison["p_holm"] >= comparison["p"]
    random = [method for method in others if method["title"].startswith("trained alone")]
    assert len(random) == 2
    assert not any("regret_of_first" in method for method in random)  # all of them were trained


@pytest.mark.slow
def test_strategies_are_also_compared_with_our_selection_rule(
    out: Path, letter: SearchProblem
) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    by_rule = [row for row in rows if row["candidates_by_rule"] is not None]
    assert {row["method"] for row in by_rule} == {
        "random, fixed rows",
        "evolution",
        "Bayesian optimisation",
    }
    space = letter.feasible.space
    for row in by_rule:
        choices = [space.choices(Architecture.parse(name)) for name in row["candidates_by_rule"]]
        assert (letter.feasible.cost_ratio(np.array(choices)) >= 0.85).sum() >= 2
        assert row["returned_by_rule"] in row["candidates_by_rule"]


@pytest.mark.slow
def test_what_is_found_on_criteo_is_within_the_limit(summary: dict[str, Any]) -> None:
    reference, *others = summary["criteo"]
    assert reference["found"] == ["48-240-24-256-8"]
    assert reference["difference_mean"] == 0
    assert others
    for method in others:
        assert max(method["parameters"]) <= reference["parameters"][0]


def test_the_supernet_is_that_of_the_default_search(letter: SearchProblem) -> None:
    """The default samples children without the policy, so training without one is the same."""
    equal_cost = EqualCost(letter, 1)
    (default, _), (trained, _) = equal_cost._default, equal_cost._trained
    with_policy, without = default.net.weights(), trained.net.weights()
    assert all((with_policy[name] == without[name]).all() for name in with_policy)
    assert len(trained.history) == 0


def test_evaluations_are_counted_and_fixed_rows_repeat_them(letter: SearchProblem) -> None:
    net = letter.search(letter.settings(0)).net
    members = list(letter.feasible)[:3]
    choices = np.array([letter.feasible.space.choices(member) for member in members])
    rng = np.random.default_rng(0)
    fixed = OneShotQuality(net, letter.validation, rows=100, rng=rng, fixed=True)
    assert (fixed(choices) == fixed(choices)).all()
    assert (fixed.evaluations, fixed.rows_evaluated) == (6, 600)
    batches = OneShotQuality(net, letter.validation, rows=100, rng=rng)
    assert (batches(choices) != batches(choices)).all()
    on_all_rows = OneShotQuality(net, letter.validation, rows=10**9, rng=rng)
    exact = [1 - net.loss(row, letter.validation) for row in choices]
    assert on_all_rows(choices).tolist() == exact
    assert on_all_rows.rows_evaluated == 3 * len(letter.validation)


def test_every_strategy_is_compared() -> None:
    definition = read_definition("baselines", quick=False)
    names = {method["strategy"] for method in definition["methods"] if "strategy" in method}
    assert names == set(STRATEGIES)
    jobs = BaselinesExperiment(definition).jobs()
    assert {job["seed"] for job in jobs if job["part"] == "methods"} == set(range(12))


def test_no_strategy_can_evaluate_all_feasible_architectures() -> None:
    """Otherwise strategies that repeat no evaluation would end alike."""
    definition = read_definition("baselines", quick=False)
    for table in filter_by_ground_truth(definition["tables"]):
        truth = load_ground_truth(table)
        feasible = [
            (truth.costs["parameters"] <= truth.cost_quantile(share)).sum()
            for share in definition["shares"]
        ]
        assert min(feasible) > 250  # the budget is about 90 evaluations on fixed rows
