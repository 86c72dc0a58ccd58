from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas.paper._experiment import read_definition
from tabnas.paper.experiments._equal_cost import EqualCost
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._one_shot import OneShot
from tabnas.paper.experiments._paired import compared, described, verdict_text
from tabnas.paper.experiments.baselines import Baselines
from tabnas.strategies import STRATEGIES
from tests.conftest import SHARED, needs_shared

pytest.importorskip("matplotlib")

NAME = "baselines"


@pytest.fixture(scope="module")
def letter() -> Judged:
    return JudgedTable("letter", SHARED / "data").limited(0.25, epochs=1)


@needs_shared
def test_all_spend_what_the_default_search_spends(out: Path) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    searched = [row for row in rows if row["part"] == "methods" and row["passes"] is not None]
    for seed in (0, 1):
        own = {row["method"]: row for row in searched if row["seed"] == seed}
        allowed = own["default search"]["passes"]
        assert len(own) == 4
        for row in own.values():
            assert allowed - 2_048 < row["passes"] <= allowed


@needs_shared
def test_methods_are_compared_with_the_default_search(summary: dict[str, Any]) -> None:
    first, *others = summary["methods"]
    assert first["title"] == "default search"
    assert first["regret_more"] == {"more": 0, "low": 0, "high": 0, "p": 1}
    for one in others:
        assert one["regret_of_three_more"]["more"] == pytest.approx(
            one["regret_of_three"]["mean"] - first["regret_of_three"]["mean"]
        )


@needs_shared
def test_more_trainings_alone_are_never_worse_in_the_training_they_go_by(letter: Judged) -> None:
    losses = letter.truth.losses["validation"]
    places = {str(one): place for one, place in letter.place.items()}
    for seed in range(5):
        bench = EqualCost(letter, seed)
        found = [bench.alone(k)["recommended"] for k in (1, 2, 5, 20)]
        once = [losses[places[one], seed % 3] for one in found]
        assert once == sorted(once, reverse=True)


@needs_shared
def test_what_is_found_on_criteo_is_within_the_limit(summary: dict[str, Any]) -> None:
    reference, *others = summary["criteo"]
    assert reference["found"] == ["48-240-24-256-8"]
    assert reference["more_mean"] == 0
    assert others
    for one in others:
        assert max(one["parameters"]) <= reference["parameters"][0]


@needs_shared
def test_the_supernet_is_that_of_the_default_search(letter: Judged) -> None:
    """The default's children do not ask the policy, so training them without one is the same."""
    bench = EqualCost(letter, 1)
    with_policy, without = bench._default[0].net.weights(), bench._trained[0].net.weights()
    assert all((with_policy[name] == without[name]).all() for name in with_policy)
    assert len(bench._trained[0].history) == 0


@needs_shared
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


def test_paired_differences() -> None:
    base = {("a", 0.1, seed): float(seed) for seed in range(20)}
    worse = {name: value + 1 + (name[-1] % 2) for name, value in base.items()}
    said = compared(worse, base)
    assert said["more"] == pytest.approx(1.5)
    assert 1 < said["low"] < 1.5 < said["high"] < 2
    assert said["p"] < 0.001
    assert compared(base, base) == {"more": 0, "low": 0, "high": 0, "p": 1}
    reversed_said = compared(base, worse)
    assert reversed_said["more"] == -said["more"]
    assert described([0.0, 4.0]) == pytest.approx(
        {"runs": 2, "mean": 2, "interval": 1.96 * 2, "near": 0.5}
    )


def test_a_difference_is_one_whose_interval_leaves_out_zero() -> None:
    said = {
        "a": {"low": 0.1, "high": 0.3},
        "b": {"low": -0.3, "high": -0.1},
        "c": {"low": 0.0, "high": 0.2},
    }
    assert verdict_text(said) == "Worse: a. Better: b. No difference seen: c."
    assert verdict_text({"c": said["c"]}) == "Worse: none. Better: none. No difference seen: c."


def test_every_strategy_is_compared() -> None:
    said = read_definition("baselines", quick=False)
    named = {one["strategy"] for one in said["methods"] if "strategy" in one}
    assert named == set(STRATEGIES)
    jobs = Baselines(said).jobs()
    assert {job["seed"] for job in jobs if job["part"] == "methods"} == set(range(20))
