"""The loss of a cross-validated candidate: which rows and which weights it uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tabnas.data import ClassTarget, Shares, Table
from tabnas.model import METRICS, default_metric, fit_temperature, primary_loss
from tabnas.runs import LabelledTable, RunSettings, make_plan, prepare_data
from tabnas.runs._final_training import make_final_trainer
from tabnas.runs.candidates._candidate import Trial
from tabnas.runs.candidates._cross_validation import CrossValidation, split_folds
from tabnas.runs.candidates._training import make_trainer
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture, Precision
from tests.runs.helpers import make_table

FLOAT32 = Precision.FLOAT32
SETTINGS = RunSettings(limits={"parameters": 500}, drop=("day", "house"), class_weight="balanced")


def make_weighted_rows(rows: int = 60) -> LabelledTable:
    """Return rows with increasing weights."""
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    return LabelledTable(data.features, data.target, data.y, np.linspace(0.1, 3.0, rows))


@pytest.mark.parametrize("metric", ["log_loss", "auc"])
def test_calibration_and_loss_use_weights(metric: str) -> None:
    """The temperature is fitted with training weights, the loss uses the user's weights."""
    prepared = prepare_data(make_weighted_rows(), SETTINGS)
    plan = make_plan(prepared, SETTINGS)
    plan = replace(plan, training=replace(plan.training, epochs=3))
    assert plan.folds == 5
    training = CrossValidation(Trial(Architecture((4,))), prepared, plan, METRICS[metric], None)
    candidate = training.run()
    development = prepared.train_and_validation
    outputs = training.held_out_outputs(FLOAT32)[candidate.stop_after - 1]
    training_weight = development.examples.weight
    assert not np.allclose(training_weight, development.weight)  # classes are balanced
    assert candidate.temperature == fit_temperature(outputs, development.y, training_weight)
    assert isinstance(prepared.target, ClassTarget)
    arguments = (
        metric,
        prepared.target,
        development.y,
        nested_predictions(training, prepared, plan),
    )
    assert candidate.loss == primary_loss(*arguments, development.weight)
    assert candidate.loss != primary_loss(*arguments)


def nested_predictions(training: CrossValidation, prepared: PreparedData, plan: Plan) -> np.ndarray:
    """Predict each fold with the epoch and the temperature chosen on the other folds."""
    all_outputs, rows = training.held_out_outputs(FLOAT32), prepared.train_and_validation
    nested = np.empty_like(all_outputs[0])
    for inside, outside in split_folds(prepared, plan):
        y, weight = rows.y[inside], rows.examples.weight[inside]
        losses = []
        for outputs in all_outputs[:, inside]:
            negative_log = -np.log(prepared.target_prediction(outputs))
            true_class = negative_log[np.arange(len(inside)), y]
            losses.append(
                np.average(true_class + 0.5 / len(rows) * negative_log.mean(axis=1), weights=weight)
            )
        best = int(np.argmin(losses))
        temperature = np.float32(fit_temperature(all_outputs[best, inside], y, weight))
        nested[outside] = all_outputs[best, outside] / temperature
    return prepared.target_prediction(nested)


def test_no_row_is_scored_by_an_epoch_that_it_has_chosen() -> None:
    """Of many epochs of noise, one fits the rows by chance, which must not lower the loss."""
    prepared = prepare_data(
        LabelledTable.from_table(make_table(60).drop(["value"]), "kind"), SETTINGS
    )
    plan = make_plan(prepared, SETTINGS)
    plan = replace(plan, training=replace(plan.training, epochs=400))
    training = CrossValidation(Trial(Architecture((4,))), prepared, plan, METRICS["log_loss"], None)
    rng = np.random.default_rng(0)
    set_outputs(training, rng.normal(scale=3.0, size=(400, 48, 1)))
    candidate = training.evaluate()
    chosen = training.held_out_outputs(FLOAT32)[candidate.stop_after - 1] / np.float32(
        candidate.temperature
    )
    seen = primary_loss("log_loss", prepared.target, prepared.train_and_validation.y,
                        prepared.target_prediction(chosen))  # fmt: skip
    assert seen < np.log(2)  # seemingly better than chance
    assert candidate.loss > np.log(2)


@pytest.mark.parametrize("target", ["kind", "value"])
def test_folds_stop_where_the_weighted_loss_is_lowest(target: str) -> None:
    """The rows that weigh much are answered best after the second of three epochs."""
    other = {"kind": "value", "value": "kind"}[target]
    data = LabelledTable.from_table(make_table(60).drop([other]), target)
    weight = np.where(np.arange(60) < 15, 10.0, 0.1)
    settings = replace(SETTINGS, class_weight=None)
    prepared = prepare_data(replace(data, weight=weight), settings)
    plan = make_plan(prepared, settings)
    plan = replace(plan, training=replace(plan.training, epochs=3))
    metric = default_metric(prepared.target.task)
    training = CrossValidation(Trial(Architecture((4,))), prepared, plan, metric, None)
    heavy = prepared.train_and_validation.weight > 1
    error = np.where(heavy, [[1.0], [0.5], [0.0]], [[0.0], [2.0], [0.0]])  # after each epoch
    error[2, np.nonzero(heavy)[0][::5]] = 2.0  # a few large errors are worse than many small ones
    values = prepared.train_and_validation.examples.values[:, 0]
    answers = (2 * values - 1) * (3 - error) if target == "kind" else values + error
    set_outputs(training, answers[:, :, None])
    assert training.evaluate().stop_after == 2


def set_outputs(training: CrossValidation, outputs: np.ndarray) -> None:
    """Replace the outputs of the folds, [epochs, rows, outputs]."""
    for fold, (_, held_out) in zip(training.trainings, training._folds, strict=True):
        fold.epoch_outputs = outputs[None, :, held_out].astype(np.float32)


def test_folds_without_a_finite_epoch_have_diverged() -> None:
    prepared = prepare_data(make_weighted_rows(), SETTINGS)
    plan = make_plan(prepared, SETTINGS)
    training = CrossValidation(Trial(Architecture((4,))), prepared, plan, METRICS["log_loss"], None)
    set_outputs(training, np.full((plan.training.epochs, 48, 1), np.nan))
    assert training.evaluate().loss == np.inf


def test_folds_of_groups_have_equally_many_rows() -> None:
    """Groups of 1 to 10 rows make five folds of 11 rows each."""
    rows = make_table(55)
    house = pa.array(np.repeat(np.arange(10), np.arange(1, 11)))
    arrow = rows.arrow.set_column(rows.arrow.column_names.index("house"), "house", house)
    data = LabelledTable.from_table(Table(arrow).drop(["value"]), "kind")
    settings = replace(
        SETTINGS, drop=("day",), split="group", split_column="house", shares=Shares(test=0.0)
    )
    prepared = prepare_data(data, settings)
    held_out = [outside for _, outside in split_folds(prepared, make_plan(prepared, settings))]
    assert [len(rows) for rows in held_out] == [11] * 5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_are_stratified(seed: int) -> None:
    """Of each class, no fold holds out more than one row more than another."""
    settings = replace(SETTINGS, seed=seed)
    prepared = prepare_data(
        LabelledTable.from_table(make_table(131).drop(["value"]), "kind"), settings
    )
    held_out = [outside for _, outside in split_folds(prepared, make_plan(prepared, settings))]
    assert sorted(np.concatenate(held_out)) == list(range(len(prepared.train_and_validation)))
    counts = np.array([np.bincount(prepared.train_and_validation.y[rows]) for rows in held_out])
    assert np.ptp(counts, axis=0).max() <= 1


def test_folds_and_final_training_average_weights() -> None:
    """The outputs of held-out rows are those of the average that a fold ends with."""
    prepared = prepare_data(make_weighted_rows(), SETTINGS)
    plan = make_plan(prepared, SETTINGS)
    plan = replace(plan, training=replace(plan.training, epochs=3))
    assert plan.training.averaging > 0
    training = CrossValidation(Trial(Architecture((4,))), prepared, plan, METRICS["log_loss"], None)
    candidate = training.run()
    *_, (train, held_out) = split_folds(prepared, plan)
    rows = prepared.train_and_validation
    trainer = make_trainer(Architecture((4,)), rows.take(train).examples, plan, plan.training)
    trainer.run()
    outputs = training.trainings[-1].epoch_outputs[0, -1]
    np.testing.assert_array_equal(
        trainer.net.logits(Architecture((4,)), rows.take(held_out).examples), outputs
    )
    final = make_final_trainer(candidate, prepared.train_and_validation.examples, plan)
    assert final.settings.averaging == plan.training.averaging
    off = replace(plan, training=replace(plan.training, averaging=0.0))
    without = CrossValidation(Trial(Architecture((4,))), prepared, off, METRICS["log_loss"], None)
    without.run()
    assert (without.trainings[-1].epoch_outputs[0, -1] != outputs).all()
