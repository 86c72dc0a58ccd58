"""A candidate of a large table: trained on training rows, evaluated on validation rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tabnas.model import METRICS, fit_temperature, primary_loss
from tabnas.nets import Constant, SuperNet
from tabnas.runs import make_candidate_training, make_plan, prepare_data
from tabnas.runs._final_training import make_final_trainer
from tabnas.runs.candidates._candidate import Trial
from tabnas.space import Architecture
from tests.runs.candidates.test_cross_validation import SETTINGS, make_weighted_rows


def test_a_large_table_stops_by_its_validation_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_prepare", "_fitted_encoder"):
        monkeypatch.setattr(f"tabnas.runs.prepare.{module}.MAX_CROSS_VALIDATED_ROWS", 100)
    prepared = prepare_data(make_weighted_rows(200), SETTINGS)
    plan = make_plan(prepared, SETTINGS)
    assert plan.folds == 0
    plan = replace(plan, training=replace(plan.training, epochs=12, schedule=Constant(0.1)))
    training = make_candidate_training(
        Trial(Architecture((16,))), prepared, plan, METRICS["log_loss"]
    )
    candidate = training.run()
    losses = training.trainings[0].state_dict()["validation_losses"]
    assert candidate.stop_after == 1 + int(losses.argmin()) < 12  # later epochs overfit
    net = SuperNet.standalone(candidate.architecture, prepared.spec)
    net.load_weights(candidate.weights)
    validation = prepared.validation
    assert net.loss(candidate.architecture, validation.examples) == pytest.approx(losses.min())
    outputs = net.logits(candidate.architecture, validation.examples)
    training_weight = validation.examples.weight
    assert candidate.temperature == fit_temperature(outputs, validation.y, training_weight)
    predictions = prepared.target_prediction(outputs / np.float32(candidate.temperature))
    expected = primary_loss(
        "log_loss", prepared.target, validation.y, predictions, validation.weight
    )
    assert candidate.loss == expected
    final = make_final_trainer(candidate, prepared.train_and_validation.examples, plan)
    assert final.run().epochs == candidate.stop_after
