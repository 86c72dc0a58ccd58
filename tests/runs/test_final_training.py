"""The last trainings: on which rows, for how long, and by which temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tabnas.model import apply_temperature
from tabnas.nets import TrainingRows
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs._final_training import FinalModel, train_final_model
from tabnas.runs.candidates._training import Candidate, make_final_trainer
from tabnas.space import Architecture
from tests.runs.helpers import make_table

RESOLVED = {"search_epochs": 1, "epochs": 4, "candidates": 1}
TEMPERATURE = 2.5


def planned(rows: int = 60, **said: object) -> PlannedRun:
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    settings = RunSettings(limits={"parameters": 500}, drop=("day", "house"), **said)
    return plan_run(data, settings, resolved=RESOLVED)


def candidate(weights: Mapping[str, np.ndarray] | None = None) -> Candidate:
    return Candidate(
        architecture=Architecture((4,)),
        loss=0.5,
        stop_after=2,
        temperature=TEMPERATURE,
        seconds=0.0,
        weights=weights,
    )


def made(run: PlannedRun, chosen: Candidate) -> FinalModel:
    return train_final_model(run, [chosen], lambda told: None, RunCheckpoint(), {})


def trained_on(run: PlannedRun, rows: TrainingRows) -> Mapping[str, np.ndarray]:
    """The weights after the candidate's two epochs, their outputs divided by its temperature."""
    trainer = make_final_trainer(candidate(), rows, run.plan)
    trainer.run()
    assert trainer.result.epochs == 2
    return apply_temperature(trainer.net.weights(), TEMPERATURE)


def assert_same(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, weights in expected.items():
        np.testing.assert_array_equal(found[name], weights)


def test_the_network_of_the_folds_learns_from_all_of_their_rows() -> None:
    run = planned()
    assert run.plan.folds == 5
    found = made(run, candidate())
    expected = trained_on(run, run.data.development.examples)
    assert_same(found.evaluated_weights, expected)
    assert_same(found.model.weights, expected)
    assert not found.trained_on_all


@pytest.fixture
def no_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabnas.runs.prepare._prepare.MAX_CROSS_VALIDATED_ROWS", 10)


@pytest.mark.usefixtures("no_folds")
def test_without_folds_the_candidates_own_weights_are_calibrated() -> None:
    run = planned()
    assert run.plan.folds == 0
    expected = trained_on(run, run.data.train.examples)
    assert_same(
        made(run, candidate()).evaluated_weights, expected
    )  # whose weights were let go: once more
    weights = {name: array * np.float32(3) for name, array in expected.items()}
    found = made(run, candidate(weights))
    assert_same(found.evaluated_weights, apply_temperature(weights, TEMPERATURE))
    assert_same(found.model.weights, found.evaluated_weights)


def test_a_refit_learns_from_all_rows_and_is_calibrated_too() -> None:
    run = planned(refit=True)
    found = made(run, candidate())
    assert len(run.data.all_rows) == 60
    assert_same(found.evaluated_weights, trained_on(run, run.data.development.examples))
    assert_same(found.model.weights, trained_on(run, run.data.all_rows.examples))
    assert found.trained_on_all
