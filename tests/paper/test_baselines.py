from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas.paper._experiment import read_definition
from tabnas.paper._ground_truth import ground_truth
from tabnas.paper.experiments._equal_cost import EqualCost
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._one_shot import OneShot
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.paper.experiments.baselines import Baselines
from tabnas.space import Architecture
from tabnas.strategies import STRATEGIES
from tests.criteo import make_criteo

pytest.importorskip("matplotlib")

NAME = "baselines"


def DATA(folder: Path) -> Path:  # noqa: N802
    """Criteo does not come with tabnas, so the tests make rows of its form."""
    pq.write_table(make_criteo(1_500), folder / "criteo.parquet")
    return folder


@pytest.fixture(scope="module")
def letter() -> Judged:
    return JudgedTable("letter", None).with_max_categories(0.25, epochs=1)


@pytest.mark.slow
def test_all_spend_what_the_default_search_spends(out: Path) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    searched = [row for row in rows if row["part"] == "methods" and row["passes"] is not None]
    for seed in (0, 1):
        own = {row["method"]: row for row in searched if row["seed"] == seed}
        allowed = own["default search"]["passes"]
        assert len(own) == 4
        for row in own.values():
            assert allowed - 2_048 < row["passes"] <= allowed


@pytest.mark.slow
def test_methods_are_compared_with_the_default_search(summary: dict[str, Any]) -> None:
    first, *others = summary["methods"]
    assert first["title"] == "default search"
    assert first["by_rule"] == first["regret_of_returned"]  # the rule is its own
    for one in others:
        for name in ("regret_of_returned", "test_regret_of_returned"):
            more = one[name]["mean"] - first[name]["mean"]
            assert one[f"{name}_more"]["more"] == pytest.approx(more)
            assert one[f"{name}_more"]["p_holm"] >= one[f"{name}_more"]["p"]
    alone = [one for one in others if one["title"].startswith("trained alone")]
    assert len(alone) == 2
    assert not any("regret_of_first" in one for one in alone)  # all of them were trained


@pytest.mark.slow
def test_all_may_choose_by_the_same_rule(out: Path, letter: Judged) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    ruled = [row for row in rows if row["named_by_rule"] is not None]
    assert {row["method"] for row in ruled} == {
        "random, large looks",
        "evolution",
        "Bayesian optimisation",
    }
    space = letter.feasible.space
    for row in ruled:
        named = [space.choices(Architecture.parse(one)) for one in row["named_by_rule"]]
        assert (letter.feasible.cost_ratio(np.array(named)) >= 0.85).sum() >= 2
        assert row["returned_by_rule"] in row["named_by_rule"]


@pytest.mark.slow
def test_what_is_found_on_criteo_is_within_the_limit(summary: dict[str, Any]) -> None:
    reference, *others = summary["criteo"]
    assert reference["found"] == ["48-240-24-256-8"]
    assert reference["more_mean"] == 0
    assert others
    for one in others:
        assert max(one["parameters"]) <= reference["parameters"][0]


def test_the_supernet_is_that_of_the_default_search(letter: Judged) -> None:
    """The default's children do not ask the policy, so training them without one is the same."""
    bench = EqualCost(letter, 1)
    with_policy, without = bench._default[0].net.weights(), bench._trained[0].net.weights()
    assert all((with_policy[name] == without[name]).all() for name in with_policy)
    assert len(bench._trained[0].history) == 0


def test_looks_are_counted_and_steady_ones_repeat(letter: Judged) -> None:
    net = letter.search(letter.settings(0)).net
    choices = np.array([letter.feasible.space.choices(one) for one in list(letter.feasible)[:3]])
    rng = np.random.default_rng(0)
    steady = OneShot(net, letter.validation, rows=100, rng=rng, steady=True)
    assert (steady(choices) == steady(choices)).all()
    assert (steady.looks, steady.passes) == (6, 600)
    anew = OneShot(net, letter.validation, rows=100, rng=rng)
    assert (anew(choices) != anew(choices)).all()
    whole = OneShot(net, letter.validation, rows=10**9, rng=rng)
    exact = [1 - net.loss(row, letter.validation) for row in choices]
    assert whole(choices).tolist() == exact
    assert whole.passes == 3 * len(letter.validation)


def test_every_strategy_is_compared() -> None:
    said = read_definition("baselines", quick=False)
    named = {one["strategy"] for one in said["methods"] if "strategy" in one}
    assert named == set(STRATEGIES)
    jobs = Baselines(said).jobs()
    assert {job["seed"] for job in jobs if job["part"] == "methods"} == set(range(12))


def test_no_limit_is_so_tight_that_all_of_it_can_be_looked_at() -> None:
    """Else strategies that look at nothing twice end alike, whatever they are."""
    said = read_definition("baselines", quick=False)
    for table in tables_with_ground_truth(said):
        truth = ground_truth(table)
        members = [
            (truth.costs["parameters"] <= truth.limit_kept_by(share)).sum()
            for share in said["shares"]
        ]
        assert min(members) > 250  # about 90 large looks are paid for
