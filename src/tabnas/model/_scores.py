"""Scores of predictions, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.data import ClassTarget, Target
from tabnas.errors import TabNASError, check_int
from tabnas.model._metrics import METRICS, Metric, get_metric, metrics_for
from tabnas.model._weighted_metrics import WeightedMetric, check_sample_weight
from tabnas.results import Score, Scores
from tabnas.streams import stream
from tabnas.types import FloatArray

DEFAULT_RESAMPLES = 1_000
MAX_BOOTSTRAP_ROWS = 10_000
MAX_BOOTSTRAP_CELLS = 50_000
"""Rows, and rows times classes, up to which intervals are bootstrapped."""
BLOCK_CELLS = 1 << 20  # counts sampled at a time, so that a block stays in the cache
TAIL = 0.025
NORMAL_QUANTILE = 1.959963984540054  # of 1 - TAIL: scipy.special.ndtri(0.975)
MAX_SUM_ERROR = 1e-5


def score(
    target: Target,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    seed: int = 0,
    resamples: int = DEFAULT_RESAMPLES,
) -> Scores:
    """Score predictions by every metric that fits the target, with 95 % intervals.

    The definitions are those of scikit-learn, on probabilities in float64. Rows of weight 0 are
    ignored. A metric that is undefined on the rows is left out: R² if all values are equal, AUC if
    a class does not occur. The balanced error averages over the classes that occur.

    Up to 10,000 rows (and 50,000 rows times classes) the intervals are percentiles of a bootstrap
    over rows; resamples on which a metric is undefined are left out. Beyond, they are normal
    approximations from the influence of each row (DeLong's for AUC), which agree with the bootstrap
    at that size. If no prediction is wrong, or every one, the interval of the accuracy is the exact
    binomial one. With few rows, or without any error among them, other intervals are too narrow.

    Parameters
    ----------
    target : Target
        The target that was predicted.
    y_true : array-like of shape (rows,)
        Class numbers, as the target encodes them, or values in the units of the target.
    y_pred : array-like of shape (rows, classes) or (rows,)
        Probabilities, or values in the units of the target.
    sample_weight : array-like of shape (rows,), optional
        The weight of each row; None gives all rows the same.
    seed : int
        Determines the bootstrap.
    resamples : int
        The number of resamples of the bootstrap.

    Examples
    --------
    >>> target = ClassTarget(name="bird", classes=("auk", "owl"))
    >>> scores = score(target, [0, 1, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    >>> scores["accuracy"].value, scores["auc"].value
    (0.75, 1.0)
    """
    resamples = check_int("resamples", resamples, minimum=1)
    y_true, y_pred, weight = _check_arrays(target, y_true, y_pred, sample_weight)
    rows, cells = len(y_true), y_pred.size
    if rows <= MAX_BOOTSTRAP_ROWS and cells <= MAX_BOOTSTRAP_CELLS:
        metrics = {m.name: m.on_rows(y_true, y_pred) for m in metrics_for(target.task)}
        values = {name: _value(metric, weight) for name, metric in metrics.items()}
        values = {name: value for name, value in values.items() if not np.isnan(value)}
        defined = {name: metrics[name] for name in values}
        intervals = _bootstrap(defined, weight, check_int("seed", seed, minimum=0), resamples)
    else:
        values, intervals = {}, {}
        for metric in metrics_for(target.task):  # one at a time, because each takes memory
            weighted = metric.on_rows(y_true, y_pred)
            value = _value(weighted, weight)
            if not np.isnan(value):
                values[metric.name] = value
                intervals[metric.name] = _normal_interval(weighted, value, weight)
    if values.get("accuracy") in (0.0, 1.0):
        intervals["accuracy"] = _exact_interval(values["accuracy"], weight)
    entries = {}
    for name, (low, high) in intervals.items():
        value, metric = values[name], METRICS[name]
        entries[name] = Score(
            value, max(min(low, value), metric.minimum), min(max(high, value), metric.maximum)
        )
    return Scores(target.task, rows, entries)


def primary_loss(
    metric: Metric | str,
    target: Target,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the metric as a number to minimize: its negative if greater is better.

    The arrays are as for `score`.
    """
    metric = get_metric(metric if isinstance(metric, str) else metric.name, target.task)
    y_true, y_pred, weight = _check_arrays(target, y_true, y_pred, sample_weight)
    value = _value(metric.on_rows(y_true, y_pred), weight)
    if np.isnan(value):
        raise TabNASError(
            f"{metric.name} is undefined on these rows: a class does not occur or all values are "
            "equal; use more rows or another metric"
        )
    return metric.loss(value)


# -- intervals -----------------------------------------------------------------------------------


def _value(metric: WeightedMetric, weight: FloatArray) -> float:
    return float(metric.values(weight[None])[0])


def _bootstrap(
    metrics: Mapping[str, WeightedMetric], weight: FloatArray, seed: int, resamples: int
) -> dict[str, tuple[float, float]]:
    """Return percentile intervals of all metrics on the same resamples."""
    rng, rows = stream(seed, "bootstrap"), len(weight)
    values: dict[str, list[FloatArray]] = {name: [] for name in metrics}
    step = max(1, BLOCK_CELLS // rows)
    for start in range(0, resamples, step):
        n = min(step, resamples - start)
        sampled = rng.integers(rows, size=(n, rows)) + rows * np.arange(n)[:, None]
        counts = np.bincount(sampled.ravel(), minlength=n * rows).reshape(n, rows)
        for name, metric in metrics.items():
            values[name].append(metric.values(counts * weight))
    return {name: _percentiles(np.concatenate(blocks)) for name, blocks in values.items()}


def _percentiles(values: FloatArray) -> tuple[float, float]:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return np.inf, -np.inf  # `score` replaces both by the value
    low, high = np.quantile(defined, [TAIL, 1 - TAIL])
    return float(low), float(high)


def _normal_interval(
    metric: WeightedMetric, value: float, weight: FloatArray
) -> tuple[float, float]:
    influence, rows = metric.influence(weight), len(weight)
    std = float(np.sqrt((influence**2).sum() * rows / (rows - 1)))
    return value - NORMAL_QUANTILE * std, value + NORMAL_QUANTILE * std


def _exact_interval(value: float, weight: FloatArray) -> tuple[float, float]:
    """Return the interval (Clopper-Pearson) of an accuracy of 0 or 1, which resamples never leave.

    It is that of the effective number of rows, (sum w)^2 / sum w^2.
    """
    rows = float(weight.sum() ** 2 / np.square(weight).sum())
    distance = 1.0 - TAIL ** (1.0 / rows)
    return (0.0, distance) if value == 0.0 else (1.0 - distance, 1.0)


# -- validation ----------------------------------------------------------------------------------


def _check_arrays(
    target: Target, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[Any], FloatArray, FloatArray]:
    """Return the checked arrays without the rows of weight 0; the largest weight is 1."""
    true, pred = np.asarray(y_true), np.asarray(y_pred, np.float64)
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    shape = (len(true), classes) if classes else (len(true),)
    if true.ndim != 1 or pred.shape != shape:
        raise TabNASError(
            f"y_true must have the shape (rows,), and y_pred of a {target.task} target {shape}, "
            f"got {true.shape} and {pred.shape}"
        )
    true = _check_codes(true, classes) if classes else np.asarray(true, np.float64)
    if not (np.isfinite(pred).all() and np.isfinite(true).all()):
        raise TabNASError("y_true and y_pred must be finite, but some values are not")
    if classes:
        _check_probabilities(pred)
    else:
        _check_errors(true, pred)
    weight = check_sample_weight(sample_weight, len(true))
    rows = weight > 0
    if not rows.all():
        true, pred, weight = true[rows], pred[rows], weight[rows]
    # only proportions matter, and sums of large or tiny weights could overflow or vanish
    return true, pred, weight / weight.max()


def _check_codes(y_true: NDArray[Any], classes: int) -> NDArray[np.int64]:
    problem = None
    if y_true.dtype.kind not in "biu":
        problem = f"an array of type {y_true.dtype}"
    elif len(y_true) and not 0 <= y_true.min() <= y_true.max() < classes:
        problem = f"numbers from {y_true.min()} to {y_true.max()}"
    if problem:
        raise TabNASError(
            f"y_true must hold class numbers from 0 to {classes - 1}, as the target encodes them, "
            f"got {problem}"
        )
    return y_true.astype(np.int64)


def _check_probabilities(y_pred: FloatArray) -> None:
    wrong = (y_pred < 0).any(axis=1) | (np.abs(y_pred.sum(axis=1) - 1) > MAX_SUM_ERROR)
    if wrong.any():
        row = int(wrong.argmax())
        raise TabNASError(
            "y_pred must hold probabilities of at least 0 that sum to 1 in each row, but row "
            f"{row} has a minimum of {y_pred[row].min():g} and a sum of {y_pred[row].sum():g}"
        )


def _check_errors(y_true: NDArray[Any], y_pred: FloatArray) -> None:
    with np.errstate(over="ignore"):
        finite = np.isfinite(y_true - y_pred).all()
    if not finite:
        raise TabNASError("y_true - y_pred must be finite, but some differences overflow")
