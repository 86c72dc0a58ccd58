"""The final training: its rows, its epochs and its temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tabnas.model import apply_temperature
from tabnas.nets import TrainingRows
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs._answers import LABELS_ONLY
from tabnas.runs._final_training import FinalModel, make_final_trainer, train_final_model
from tabnas.runs._job_pool import JobPool
from tabnas.runs.candidates._candidate import Candidate
from tabnas.space import Architecture, Precision
from tests.runs.helpers import make_table

SAVED_PLAN = {"search_epochs": 1, "epochs": 4, "candidates": 1}
TEMPERATURE = 2.5


def make_run(rows: int = 60, **options: object) -> PlannedRun:
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    settings = RunSettings(limits={"parameters": 500}, drop=("day", "house"), **options)
    return plan_run(data, settings, saved_plan=SAVED_PLAN)


def make_candidate(
    weights: Mapping[str, np.ndarray] | None = None,
    precision: Precision = Precision.FLOAT32,
    *,
    is_longer: bool = False,
) -> Candidate:
    return Candidate(
        architecture=Architecture((4,)),
        distillation=LABELS_ONLY,
        is_longer=is_longer,
        precision=precision,
        loss=0.5,
        float32_loss=0.5,
        stop_after=2,
        temperature=TEMPERATURE,
        weights=weights,
    )


def train(run: PlannedRun, chosen: Candidate) -> FinalModel:
    checkpoint = RunCheckpoint()
    pool = JobPool(checkpoint)
    return train_final_model(run, [chosen], lambda progress: None, checkpoint, pool)


def train_on(run: PlannedRun, rows: TrainingRows) -> Mapping[str, np.ndarray]:
    """Return the weights after the candidate's two epochs, divided by its temperature."""
    trainer = make_final_trainer(make_candidate(), rows, run.plan)
    trainer.run()
    assert trainer.result.epochs == 2
    return apply_temperature(trainer.net.weights(), TEMPERATURE)


def assert_same(actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    assert actual.keys() == expected.keys()
    for name, weights in expected.items():
        np.testing.assert_array_equal(actual[name], weights)


def test_with_folds_the_final_network_learns_from_all_development_rows() -> None:
    run = make_run()
    assert run.plan.folds == 5
    actual = train(run, make_candidate())
    expected = train_on(run, run.data.train_and_validation.examples)
    assert_same(actual.evaluated_weights, expected)
    assert_same(actual.model.weights, expected)
    assert not actual.trained_on_all


@pytest.fixture
def no_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_prepare", "_fitted_encoder"):
        monkeypatch.setattr(f"tabnas.runs.prepare.{module}.MAX_CROSS_VALIDATED_ROWS", 10)


@pytest.mark.usefixtures("no_folds")
def test_without_folds_the_weights_of_the_candidate_are_calibrated() -> None:
    run = make_run()
    assert run.plan.folds == 0
    expected = train_on(run, run.data.train.examples)
    assert_same(
        train(run, make_candidate()).evaluated_weights, expected
    )  # its weights were dropped, so it is trained again
    weights = {name: array * np.float32(3) for name, array in expected.items()}
    actual = train(run, make_candidate(weights))
    assert_same(actual.evaluated_weights, apply_temperature(weights, TEMPERATURE))
    assert_same(actual.model.weights, actual.evaluated_weights)


@pytest.mark.usefixtures("no_folds")
def test_a_longer_candidate_is_trained_again_without_validation_rows() -> None:
    plan, rows = make_run().plan, make_run().data.train.examples
    assert plan.get_training(is_longer=True).early_stopping is not None
    trainer = make_final_trainer(make_candidate(is_longer=True), rows, plan)
    trainer.run()
    assert trainer.result.epochs == 2
    assert trainer.settings.epochs == plan.longer_epochs > plan.training.epochs  # of the schedule


def test_a_refit_learns_from_all_rows_and_is_calibrated() -> None:
    run = make_run(refit=True)
    actual = train(run, make_candidate())
    assert len(run.data.all_rows) == 60
    assert_same(actual.evaluated_weights, train_on(run, run.data.train_and_validation.examples))
    assert_same(actual.model.weights, train_on(run, run.data.all_rows.examples))
    assert actual.trained_on_all
