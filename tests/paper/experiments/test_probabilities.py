from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, Inputs, NetworkSpec
from tabnas.paper._tables import prepare_table
from tabnas.paper.experiments.common import TracedSearch, describe_end, find_most_likely
from tabnas.policy import Adam
from tabnas.search import Search, SearchSettings
from tabnas.space import Budget, SearchSpace

pytest.importorskip("matplotlib")

NAME = "probabilities"


@pytest.fixture(scope="module")
def rows(out: Path) -> dict[str, dict[str, Any]]:
    return {row["reward"]: row for row in pq.read_table(out / "rows.parquet").to_pylist()}


@pytest.mark.slow
def test_the_policy_is_uniform_during_warm_up(rows: dict[str, dict[str, Any]]) -> None:
    for row in rows.values():
        frozen = np.array(row["progress"]) <= row["warmup"]
        assert 3 <= frozen.sum() < len(frozen)
        share = row["feasible"] / row["architectures"]
        assert np.allclose(np.array(row["p_feasible"])[frozen], share)
        assert np.allclose(np.array(row["probabilities"])[frozen], 1 / 20)


@pytest.mark.slow
def test_probabilities_are_probabilities(rows: dict[str, dict[str, Any]]) -> None:
    for row in rows.values():
        sums = np.array(row["probabilities"]).sum(axis=-1)
        assert np.allclose(sums, 1, atol=2e-3)  # rounded to four digits


@pytest.mark.slow
def test_sampling_from_v_wastes_no_step(rows: dict[str, dict[str, Any]]) -> None:
    exact, sampled = rows["rejection"], rows["rejection_monte_carlo"]
    assert exact["policy_updates"] > 4 * sampled["policy_updates"] > 0


@pytest.mark.slow
def test_abs_approaches_the_limit_and_rejection_stays_within(
    out: Path, rows: dict[str, dict[str, Any]]
) -> None:
    assert rows["abs"]["p_feasible"][-1] > 1.5 * rows["abs"]["p_feasible"][0]
    assert all(row["selected_cost"] <= row["limit"] for row in rows.values())
    summary = json.loads((out / "summary.json").read_text())
    (error,) = (row["estimate_error"] for row in summary["searches"] if row["estimate_error"])
    assert error < 0.03
    for reward in summary["rewards"]:  # of one seed, so the mean is that seed's
        first, *_, last = rows[reward["reward"]]["p_feasible"]
        assert reward["p_feasible_after"] == last == reward["p_feasible_min"]
        assert reward["rose"] == (last > first)
    assert "a substitute for Volkert" in (out / "README.md").read_text()
    assert (out / "covertype-4-layers.svg").exists()


def test_changes_make_another_space() -> None:
    changes = {"rows": 300, "layers": 2, "widths": [8, 16], "reference": "8-16"}
    table = prepare_table("covertype", None, changes)
    assert {str(one) for one in table.feasible} == {"8-8", "8-16"}


@pytest.fixture
def examples() -> Examples:
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    spec = NetworkSpec(inputs=Inputs(numeric=4), loss="logistic")
    return Examples(spec, numeric=x, target=x[:, 0] * x[:, 1] > 0)


@pytest.fixture
def feasible() -> FeasibleSet:
    space = SearchSpace.uniform(layers=2, widths=[2, 4, 8], inputs=4, outputs=1)
    return FeasibleSet(space, Budget(dense_parameters=60))


@pytest.mark.parametrize("reward", ["rejection_monte_carlo", "rejection", "abs"])
def test_tracing_does_not_change_the_search(
    examples: Examples, feasible: FeasibleSet, reward: str
) -> None:
    options = {"rejection_monte_carlo": {"samples": 50}, "abs": {"beta": -1.0}}.get(reward, {})
    settings = SearchSettings(
        epochs=4,
        batch_size=32,
        reward=reward,
        reward_options=options,
        policy_optimizer=Adam(learning_rate=0.1),
    )
    plain = Search(feasible, examples, examples, settings)
    plain.run()
    traced = TracedSearch(feasible, examples, examples, settings, snapshots=7)
    traced.run_traced()
    assert np.array_equal(plain.controller.policy.logits, traced.controller.policy.logits)
    assert len(traced.trace["progress"]) == 8
    assert traced.trace["p_feasible"][-1] == pytest.approx(
        float(feasible.probability(traced.controller.policy.logits))
    )
    assert (traced.trace["p_estimated"][0] is not None) == (reward == "rejection_monte_carlo")
    learned = np.isfinite(np.concatenate([one.quality for one in traced.history.evaluations]))
    assert traced.policy_updates == learned.sum()


def test_the_most_likely_may_be_infeasible_but_not_the_selected(
    examples: Examples, feasible: FeasibleSet
) -> None:
    settings = SearchSettings(
        epochs=4,
        batch_size=32,
        warmup=0.0,
        reward="abs",
        reward_options={"beta": 0.0},
        policy_optimizer=Adam(learning_rate=0.1),
    )
    search = Search(feasible, examples, examples, settings)
    while find_most_likely(search) in feasible:  # reward width only
        choices = search.controller.suggest()
        search.controller.update(choices, choices.sum(axis=-1).astype(float))
    end = describe_end(search)
    assert not end["most_likely_feasible"]
    assert end["most_likely_cost"] > 60 >= end["selected_cost"]
