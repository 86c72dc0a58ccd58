"""Candidates trained one after the other: which one keeps its weights, and in which order."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs.candidates._train_candidates import rank_candidates, train_candidates
from tabnas.runs.candidates._training import Candidate
from tabnas.space import Architecture
from tests.runs.helpers import made_table


@pytest.fixture(scope="module")
def run() -> PlannedRun:
    data = LabelledTable.from_table(made_table(60).drop(["value"]), "kind")
    return plan_run(data, RunSettings(limits={"parameters": 500}))


def candidate(number: int, loss: float) -> Candidate:
    return Candidate(
        architecture=Architecture((number + 1,)),
        loss=loss,
        stop_after=1,
        temperature=1.0,
        seconds=0.0,
        weights={"bias": np.array([number], np.float32)},
    )


class FakeTraining:
    """A training whose outcome is known."""

    def __init__(self, outcome: Candidate) -> None:
        self.outcome = outcome

    def run(self, observe: object, tick: object) -> Candidate:
        return self.outcome

    def state_dict(self) -> dict[str, np.ndarray]:
        return {}

    def load_state_dict(self, state: object) -> None:
        pass


@pytest.mark.parametrize(
    ("losses", "order"),
    [
        ([2.0, 3.0, 2.5], [0, 2, 1]),  # the last is better than the one before, not than the best
        ([3.0, 2.0, 1.0], [2, 1, 0]),
        ([1.0, 1.0, 2.0], [0, 1, 2]),  # of equals, the first
        ([inf, 2.0, inf], [1]),
    ],
)
def test_the_best_keeps_its_weights(
    run: PlannedRun, monkeypatch: pytest.MonkeyPatch, losses: list[float], order: list[int]
) -> None:
    outcomes = [candidate(k, loss) for k, loss in enumerate(losses)]
    trials = iter(map(FakeTraining, outcomes))
    monkeypatch.setattr(
        "tabnas.runs.candidates._train_candidates.make_candidate_training",
        lambda *given: next(trials),
    )
    checkpoint = RunCheckpoint()
    architectures = [one.architecture for one in outcomes]
    tried = train_candidates(run, architectures, lambda told: None, checkpoint)
    assert [one.loss for one in tried] == losses
    found, notes = rank_candidates(run, tried)
    assert found == order
    assert len(notes) == losses.count(inf)
    best = order[0]
    assert [k for k, one in enumerate(tried) if one.weights is not None] == [best]
    assert tried[best].weights == outcomes[best].weights
    kept = [bool(checkpoint.arrays(f"candidate {k + 1}")) for k in range(3)]
    assert [k for k, has in enumerate(kept) if has] == [best]
    # whoever goes on finds the same
    again = train_candidates(run, architectures, lambda told: None, checkpoint)
    assert [one.loss for one in again] == losses
    assert [k for k, one in enumerate(again) if one.weights is not None] == [best]


def test_if_all_diverge_there_is_nothing_to_rank(run: PlannedRun) -> None:
    with pytest.raises(TabNASError, match="training of all 2 candidates diverged"):
        rank_candidates(run, [candidate(0, inf), candidate(1, inf)])
