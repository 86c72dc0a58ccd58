"""The metrics by name: their meaning, the tasks they fit, and which direction is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Task
from tabnas.errors import TabNASError, did_you_mean
from tabnas.model._weighted_metrics import (
    R2,
    MacroMean,
    RocAuc,
    RootMeanSquare,
    WeightedMean,
    WeightedMetric,
)
from tabnas.types import BoolArray, FloatArray

CLASSES: tuple[Task, ...] = ("binary", "multiclass")
NUMBERS: tuple[Task, ...] = ("regression",)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A score of predictions."""

    name: str
    description: str
    tasks: tuple[Task, ...]
    greater_is_better: bool
    minimum: float = 0.0
    maximum: float = inf
    on_rows: Callable[[NDArray[Any], FloatArray], WeightedMetric]
    """Creates the weighted metric of `y_true` and `y_pred`, which are as for `score`."""

    def loss(self, value: float) -> float:
        """Return the number to minimize: the value, or its negative if greater is better."""
        return -value if self.greater_is_better else value


def _is_wrong(y_true: NDArray[Any], y_pred: FloatArray) -> BoolArray:
    return np.asarray(y_pred.argmax(axis=1) != y_true)


def _log_losses(y_true: NDArray[Any], y_pred: FloatArray) -> FloatArray:
    # clipped as scikit-learn does: a confident and wrong prediction costs 36 and not infinity
    epsilon = float(np.finfo(np.float64).eps)
    proba = y_pred[np.arange(len(y_true)), y_true]
    return np.asarray(-np.log(np.clip(proba, epsilon, 1 - epsilon)))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="accuracy",
            description="accuracy: the share of correct predictions",
            tasks=CLASSES,
            greater_is_better=True,
            maximum=1.0,
            on_rows=lambda y_true, y_pred: WeightedMean(~_is_wrong(y_true, y_pred)),
        ),
        Metric(
            name="balanced_error",
            description="balanced error: mean over classes of the share of wrong predictions",
            tasks=CLASSES,
            greater_is_better=False,
            maximum=1.0,
            on_rows=lambda y_true, y_pred: MacroMean(_is_wrong(y_true, y_pred), y_true),
        ),
        Metric(
            name="log_loss",
            description="log loss: mean of -log of the predicted probability of the true class",
            tasks=CLASSES,
            greater_is_better=False,
            on_rows=lambda y_true, y_pred: WeightedMean(_log_losses(y_true, y_pred)),
        ),
        Metric(
            name="auc",
            description="area under the ROC curve: how often a row of a class is ranked above one "
            "of another; with several classes, the mean over each against the rest",
            tasks=CLASSES,
            greater_is_better=True,
            maximum=1.0,
            on_rows=RocAuc,
        ),
        Metric(
            name="rmse",
            description="root mean squared error, in the target's units",
            tasks=NUMBERS,
            greater_is_better=False,
            on_rows=lambda y_true, y_pred: RootMeanSquare(y_true - y_pred),
        ),
        Metric(
            name="mae",
            description="mean absolute error, in the target's units",
            tasks=NUMBERS,
            greater_is_better=False,
            on_rows=lambda y_true, y_pred: WeightedMean(np.abs(y_true - y_pred)),
        ),
        Metric(
            name="r2",
            description="R²: the share of the target's variance that is explained",
            tasks=NUMBERS,
            greater_is_better=True,
            minimum=-inf,
            maximum=1.0,
            on_rows=R2,
        ),
    )
}
"""All metrics by name, in the order in which they are shown."""


def metrics_for(task: Task) -> list[Metric]:
    """Return the metrics that fit a task."""
    return [metric for metric in METRICS.values() if task in metric.tasks]


def default_metric(task: Task) -> Metric:
    """Return the metric that is used by default: log loss for classes, else RMSE.

    >>> default_metric("regression").name
    'rmse'
    """
    if task not in get_args(Task):
        raise TabNASError(f"there is no task {task!r}; {did_you_mean(str(task), get_args(Task))}")
    return METRICS["rmse" if task in NUMBERS else "log_loss"]


def get_metric(name: str, task: Task) -> Metric:
    """Return the metric of that name; raise an error unless it fits the task.

    >>> get_metric("rmse", "binary")
    Traceback (most recent call last):
        ...
    tabnas.errors.TabNASError: the metric of a binary target must be one of accuracy, \
balanced_error, log_loss, auc, got 'rmse'
    """
    fitting = [metric.name for metric in metrics_for(task)]
    if name in fitting:
        return METRICS[name]
    if name in METRICS:
        raise TabNASError(
            f"the metric of a {task} target must be one of {', '.join(fitting)}, got {name!r}"
        )
    raise TabNASError(f"there is no metric called {name!r}; {did_you_mean(str(name), fitting)}")
