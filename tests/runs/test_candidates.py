"""How one candidate is judged: by which rows, and by which weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tabnas.data import ClassTarget
from tabnas.model import METRICS, fit_temperature, primary_loss
from tabnas.runs import Labelled, RunSettings, make_plan, prepare
from tabnas.runs._candidates import FoldsTrial, folds
from tabnas.space import Architecture
from tests.runs.conftest import made_table

SETTINGS = RunSettings(limits={"parameters": 500}, drop=("day", "house"), class_weight="balanced")


def weighted(rows: int = 60) -> Labelled:
    """Rows of which the early ones weigh little."""
    data = Labelled.of(made_table(rows).drop(["value"]), "kind")
    return Labelled(data.features, data.target, data.truth, np.linspace(0.1, 3.0, rows))


@pytest.mark.parametrize("metric", ["log_loss", "auc"])
def test_weights_calibrate_and_choose(metric: str) -> None:
    """The temperature is fitted by what training weighs, the loss is by the user's weights."""
    parts = prepare(weighted(), SETTINGS)
    plan = make_plan(parts, SETTINGS)
    plan = replace(plan, training=replace(plan.training, epochs=3))
    assert plan.folds == 5
    trial = FoldsTrial(Architecture((4,)), parts, plan, METRICS[metric])
    candidate = trial.run()
    development = parts.development
    outputs = trial.state()["outputs"][candidate.stop_after - 1]
    training_weight = development.examples.weight
    assert not np.allclose(training_weight, development.weight)  # classes are balanced
    assert candidate.temperature == fit_temperature(outputs, development.truth, training_weight)
    predictions = parts.target_prediction(outputs / np.float32(candidate.temperature))
    assert isinstance(parts.target, ClassTarget)
    truth = (metric, parts.target, development.truth, predictions)
    assert candidate.loss == primary_loss(*truth, development.weight)
    assert candidate.loss != primary_loss(*truth)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_have_every_class_alike(seed: int) -> None:
    """Of each class, no fold holds out more than one row more than another."""
    settings = replace(SETTINGS, seed=seed)
    parts = prepare(Labelled.of(made_table(131).drop(["value"]), "kind"), settings)
    held_out = [outside for _, outside in folds(parts, make_plan(parts, settings))]
    assert sorted(np.concatenate(held_out)) == list(range(len(parts.development)))
    counts = np.array([np.bincount(parts.development.truth[rows]) for rows in held_out])
    assert np.ptp(counts, axis=0).max() <= 1
