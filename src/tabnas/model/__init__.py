"""The fitted thing, on disk and in memory, and what it is worth."""

from __future__ import annotations

from tabnas.model._baselines import (
    Boosted,
    EncodedRows,
    TreeRows,
    boosted_prediction,
    trivial_prediction,
)
from tabnas.model._calibration import doubtful_surprise, fit_temperature, tempered
from tabnas.model._files import load_model, save_model
from tabnas.model._limits import MEASURED
from tabnas.model._metrics import METRICS, Metric, default_metric, metric_named, metrics_for
from tabnas.model._model import Model, probabilities
from tabnas.model._scores import Score, Scores, primary_loss, score
from tabnas.model._shapes import weight_shapes
from tabnas.model._task import examples, network_task
from tabnas.model._tree_inputs import EncodedTreeMatrix, TreeInputs, TreeMatrix

__all__ = [
    "MEASURED",
    "METRICS",
    "Boosted",
    "EncodedRows",
    "EncodedTreeMatrix",
    "Metric",
    "Model",
    "Score",
    "Scores",
    "TreeInputs",
    "TreeMatrix",
    "TreeRows",
    "boosted_prediction",
    "default_metric",
    "doubtful_surprise",
    "examples",
    "fit_temperature",
    "load_model",
    "metric_named",
    "metrics_for",
    "network_task",
    "primary_loss",
    "probabilities",
    "save_model",
    "score",
    "tempered",
    "trivial_prediction",
    "weight_shapes",
]
