from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, Inputs, Task
from tabnas.paper.experiments._watched_search import WatchedSearch, ending, favourite, prepared
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
def test_drawing_within_v_wastes_no_step(rows: dict[str, dict[str, Any]]) -> None:
    exact, sampled = rows["rejection"], rows["rejection_monte_carlo"]
    assert exact["policy_updates"] > 4 * sampled["policy_updates"] > 0


@pytest.mark.slow
def test_abs_turns_to_the_limit_and_rejection_keeps_it(
    out: Path, rows: dict[str, dict[str, Any]]
) -> None:
    assert rows["abs"]["p_feasible"][-1] > 1.5 * rows["abs"]["p_feasible"][0]
    assert all(row["chosen_cost"] <= row["limit"] for row in rows.values())
    summary = json.loads((out / "summary.json").read_text())
    (error,) = (row["estimate_error"] for row in summary["searches"] if row["estimate_error"])
    assert error < 0.03
    for one in summary["rewards"]:  # of one seed, so the mean is that seed's
        own = rows[one["reward"]]
        assert one["p_feasible_after"] == own["p_feasible"][-1] == one["p_feasible_lowest"]
        assert one["rose"] == (own["p_feasible"][-1] > own["p_feasible"][0])
    assert "in Volkert's place" in (out / "README.md").read_text()
    assert (out / "covertype-4-layers.svg").exists()


def test_changes_make_another_space() -> None:
    changes = {"rows": 300, "layers": 2, "widths": [8, 16], "reference": "8-16"}
    table = prepared({"table": "covertype", "changes": changes}, None)
    assert {str(one) for one in table.feasible} == {"8-8", "8-16"}


@pytest.fixture
def examples() -> Examples:
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    task = Task(inputs=Inputs(numeric=4), loss="logistic")
    return Examples(task, numeric=x, target=x[:, 0] * x[:, 1] > 0)


@pytest.fixture
def feasible() -> FeasibleSet:
    space = SearchSpace.uniform(layers=2, widths=[2, 4, 8], inputs=4, outputs=1)
    return FeasibleSet(space, Budget(dense_parameters=60))


@pytest.mark.parametrize("reward", ["rejection_monte_carlo", "rejection", "abs"])
def test_watching_changes_nothing(examples: Examples, feasible: FeasibleSet, reward: str) -> None:
    options = {"rejection_monte_carlo": {"samples": 50}, "abs": {"beta": -1.0}}.get(reward, {})
    settings = SearchSettings(
        epochs=4,
        batch_size=32,
        reward=reward,
        reward_options=options,
        policy_optimizer=Adam(learning_rate=0.1),
    )
    alone = Search(feasible, examples, examples, settings)
    alone.run()
    watched = WatchedSearch(feasible, examples, examples, settings, moments=7)
    watched.watch()
    assert np.array_equal(alone.controller.policy.logits, watched.controller.policy.logits)
    assert len(watched.trace["progress"]) == 8
    assert watched.trace["p_feasible"][-1] == pytest.approx(
        float(feasible.probability(watched.controller.policy.logits))
    )
    assert (watched.trace["p_estimated"][0] is not None) == (reward == "rejection_monte_carlo")
    learned = np.isfinite(np.concatenate([look.quality for look in watched.history.evaluations]))
    assert watched.policy_updates == learned.sum()


def test_a_favourite_may_be_infeasible_and_what_is_chosen_not(
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
    while favourite(search) in feasible:  # reward width alone, until the policy goes too far
        choices = search.controller.suggest()
        search.controller.update(choices, choices.sum(axis=-1).astype(float))
    found = ending(search)
    assert not found["favourite_feasible"]
    assert found["favourite_cost"] > 60 >= found["chosen_cost"]
