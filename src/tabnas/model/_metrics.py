"""The metrics by name: what they mean, what they fit, and which way is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Task
from tabnas.errors import TabNASError, did_you_mean
from tabnas.model._measures import Area, Determination, Mean, MeanOverClasses, Measure, RootMean
from tabnas.types import BoolArray, FloatArray

CLASSES: tuple[Task, ...] = ("binary", "multiclass")
NUMBERS: tuple[Task, ...] = ("regression",)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What a prediction is worth, in one number."""

    name: str
    words: str
    tasks: tuple[Task, ...]
    greater_is_better: bool
    least: float = 0.0
    most: float = inf
    measure: Callable[[NDArray[Any], FloatArray], Measure]
    """Made from the truth and the prediction, as `score` takes them."""

    def loss(self, value: float) -> float:
        """The number to minimise: the value, or its negative if greater is better."""
        return -value if self.greater_is_better else value


def _wrong(truth: NDArray[Any], prediction: FloatArray) -> BoolArray:
    return np.asarray(prediction.argmax(axis=1) != truth)


def _surprise(truth: NDArray[Any], prediction: FloatArray) -> FloatArray:
    # clipped as scikit-learn does: a sure and wrong answer costs 36, not infinitely much
    epsilon = float(np.finfo(np.float64).eps)
    chance = prediction[np.arange(len(truth)), truth]
    return np.asarray(-np.log(np.clip(chance, epsilon, 1 - epsilon)))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="accuracy",
            words="accuracy: the share of right answers",
            tasks=CLASSES,
            greater_is_better=True,
            most=1.0,
            measure=lambda truth, prediction: Mean(~_wrong(truth, prediction)),
        ),
        Metric(
            name="balanced_error",
            words="balanced error: mean over classes of the share of wrong answers",
            tasks=CLASSES,
            greater_is_better=False,
            most=1.0,
            measure=lambda truth, prediction: MeanOverClasses(_wrong(truth, prediction), truth),
        ),
        Metric(
            name="log_loss",
            words="log loss: mean of -log of the probability given to the true class",
            tasks=CLASSES,
            greater_is_better=False,
            measure=lambda truth, prediction: Mean(_surprise(truth, prediction)),
        ),
        Metric(
            name="auc",
            words="area under the ROC curve: how often a row of a class is ranked above one of "
            "another; with several classes, the mean over each against the rest",
            tasks=CLASSES,
            greater_is_better=True,
            most=1.0,
            measure=Area,
        ),
        Metric(
            name="rmse",
            words="root mean squared error, in the target's units",
            tasks=NUMBERS,
            greater_is_better=False,
            measure=lambda truth, prediction: RootMean(truth - prediction),
        ),
        Metric(
            name="mae",
            words="mean absolute error, in the target's units",
            tasks=NUMBERS,
            greater_is_better=False,
            measure=lambda truth, prediction: Mean(np.abs(truth - prediction)),
        ),
        Metric(
            name="r2",
            words="R²: the share of the target's variance that is explained",
            tasks=NUMBERS,
            greater_is_better=True,
            least=-inf,
            most=1.0,
            measure=Determination,
        ),
    )
}
"""All metrics, in the order in which people read them."""


def metrics_for(task: Task) -> list[Metric]:
    """The metrics that fit a task."""
    return [metric for metric in METRICS.values() if task in metric.tasks]


def default_metric(task: Task) -> Metric:
    """What is minimised unless somebody says otherwise: log loss for classes, else the RMSE.

    >>> default_metric("regression").name
    'rmse'
    """
    if task not in get_args(Task):
        raise TabNASError(f"there is no task {task!r}; {did_you_mean(str(task), get_args(Task))}")
    return METRICS["rmse" if task in NUMBERS else "log_loss"]


def metric_named(name: str, task: Task) -> Metric:
    """The metric of that name, which must fit the task.

    >>> metric_named("rmse", "binary")
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
