"""What predictions are worth, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.data import ClassTarget, Target, Task
from tabnas.errors import TabNASError, check_int
from tabnas.model._measures import Measure
from tabnas.model._metrics import METRICS, Metric, metric_named, metrics_for
from tabnas.streams import stream
from tabnas.types import FloatArray

RESAMPLES = 1_000
BOOTSTRAP_ROWS = 10_000
BOOTSTRAP_CELLS = 50_000
"""The most rows, and rows times classes, for which the bootstrap is made."""
BLOCK = 1 << 20  # counts drawn at a time, so that a block stays in the cache
TAIL = 0.025
DEVIATIONS = 1.959963984540054  # that leave a tail of 0.025 of a normal variable on either side
SUM_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Score:
    """A value on the rows at hand, and a 95 % interval for what it is on all rows of their kind."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, repr=False)
class Scores(Mapping[str, Score]):
    """Every metric that fits the task and is defined on the rows, by name."""

    task: Task
    rows: int  # that weigh something
    entries: Mapping[str, Score]

    def __getitem__(self, name: str) -> Score:
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        listed = {
            name: {"value": score.value, "low": score.low, "high": score.high}
            for name, score in self.items()
        }
        return {"task": self.task, "rows": self.rows, "metrics": listed}

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {score}" for name, score in self.items())
        return f"<Scores on {self.rows:,} rows: {said}>"


def score(
    target: Target,
    truth: ArrayLike,
    prediction: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Scores:
    """Score predictions by every metric that fits the target, with 95 % intervals.

    Definitions are scikit-learn's, on probabilities in float64. Rows that weigh nothing count as
    absent. A metric that the rows do not define is left out: R² if all values are equal, AUC if a
    class does not occur. The balanced error is over the classes that occur.

    Up to 10,000 rows (and 50,000 rows times classes) the intervals are percentiles of a bootstrap
    over rows, which the seed determines; a resample on which a metric is not defined is left out.
    Beyond, they are normal approximations from the influence of each row (DeLong's for AUC), which
    agree with the bootstrap at that size. Neither knows of what did not occur: with few
    rows, or no mistake among them, the interval is too narrow.

    Parameters
    ----------
    truth : array [rows]
        Class numbers, as the target encodes them, or values in the target's own units.
    prediction : array
        Probabilities [rows, classes], or values [rows] in the target's own units.

    >>> target = ClassTarget(name="bird", classes=("auk", "owl"))
    >>> scores = score(target, [0, 1, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    >>> scores["accuracy"].value, scores["auc"].value
    (0.75, 1.0)
    """
    resamples = check_int("resamples", resamples, minimum=1)
    actual, said, importance = _checked(target, truth, prediction, weight)
    classes = said.shape[1] if said.ndim == 2 else 1
    rows, weigh = len(actual), partial(_value, weight=importance)
    if rows <= BOOTSTRAP_ROWS and rows * classes <= BOOTSTRAP_CELLS:
        measures = {m.name: m.measure(actual, said) for m in metrics_for(target.task)}
        values = {name: weigh(measure) for name, measure in measures.items()}
        values = {name: value for name, value in values.items() if not np.isnan(value)}
        defined = {name: measures[name] for name in values}
        spans = _bootstrap(defined, importance, check_int("seed", seed, minimum=0), resamples)
    else:
        values, spans = {}, {}
        for metric in metrics_for(target.task):  # one at a time, for each takes memory
            measure = metric.measure(actual, said)
            value = weigh(measure)
            if not np.isnan(value):
                values[metric.name] = value
                spans[metric.name] = _normal(measure, value, importance)
    entries = {}
    for name, (low, high) in spans.items():
        value, metric = values[name], METRICS[name]
        entries[name] = Score(
            value, max(min(low, value), metric.least), min(max(high, value), metric.most)
        )
    return Scores(target.task, rows, entries)


def primary_loss(
    metric: Metric | str,
    target: Target,
    truth: ArrayLike,
    prediction: ArrayLike,
    weight: ArrayLike | None = None,
) -> float:
    """One number to minimise, for choosing among candidates; arrays as for `score`.

    The metric itself, or its negative where greater is better.
    """
    metric = metric_named(metric if isinstance(metric, str) else metric.name, target.task)
    actual, said, importance = _checked(target, truth, prediction, weight)
    value = _value(metric.measure(actual, said), importance)
    if np.isnan(value):
        raise TabNASError(
            f"{metric.name} must be defined on the rows to choose by it, but it is not: "
            "a class does not occur or all values are equal; give more rows or take another metric"
        )
    return metric.loss(value)


# -- intervals -----------------------------------------------------------------------------------


def _value(measure: Measure, weight: FloatArray) -> float:
    return float(measure.values(weight[None])[0])


def _bootstrap(
    measures: Mapping[str, Measure], weight: FloatArray, seed: int, resamples: int
) -> dict[str, tuple[float, float]]:
    """Percentiles over resamples, all metrics on the same ones."""
    rng, rows = stream(seed, "bootstrap"), len(weight)
    found: dict[str, list[FloatArray]] = {name: [] for name in measures}
    step = max(1, BLOCK // rows)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = rng.integers(rows, size=(count, rows)) + rows * np.arange(count)[:, None]
        times = np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows)
        for name, measure in measures.items():
            found[name].append(measure.values(times * weight))
    return {name: _percentiles(np.concatenate(values)) for name, values in found.items()}


def _percentiles(values: FloatArray) -> tuple[float, float]:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return np.inf, -np.inf  # says nothing, and leaves the value itself
    low, high = np.quantile(defined, [TAIL, 1 - TAIL])
    return float(low), float(high)


def _normal(measure: Measure, value: float, weight: FloatArray) -> tuple[float, float]:
    influence, rows = measure.influence(weight), len(weight)
    deviation = float(np.sqrt((influence**2).sum() * rows / (rows - 1)))
    return value - DEVIATIONS * deviation, value + DEVIATIONS * deviation


# -- borders -------------------------------------------------------------------------------------


def _checked(
    target: Target, truth: ArrayLike, prediction: ArrayLike, weight: ArrayLike | None
) -> tuple[NDArray[Any], FloatArray, FloatArray]:
    """Truth, prediction and weight of the rows that weigh something."""
    actual, said = np.asarray(truth), np.asarray(prediction, np.float64)
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    shape = (len(actual), classes) if classes else (len(actual),)
    if actual.ndim != 1 or said.shape != shape:
        raise TabNASError(
            f"truth must have the shape (rows,) and predictions of a {target.task} target {shape}, "
            f"got {actual.shape} and {said.shape}"
        )
    actual = _codes(actual, classes) if classes else np.asarray(actual, np.float64)
    if not (np.isfinite(said).all() and np.isfinite(actual).all()):
        raise TabNASError("truth and predictions must be finite, but some are not")
    if classes:
        _check_probabilities(said)
    else:
        _check_errors(actual, said)
    importance = np.ones(len(actual)) if weight is None else np.asarray(weight, np.float64)
    if importance.shape != (len(actual),) or not ((importance >= 0) & (importance < np.inf)).all():
        raise TabNASError(
            "row weights must be finite, at least 0 and as many as the rows, got others"
        )
    kept = importance > 0
    if not kept.any():
        raise TabNASError("scores need rows that weigh something, but there are none")
    if not kept.all():
        actual, said, importance = actual[kept], said[kept], importance[kept]
    # only proportions matter, and sums of large or tiny weights could overflow or vanish
    return actual, said, importance / importance.max()


def _codes(truth: NDArray[Any], classes: int) -> NDArray[np.int64]:
    if truth.dtype.kind not in "biu" or (
        len(truth) and not 0 <= truth.min() <= truth.max() < classes
    ):
        raise TabNASError(
            f"truth must be class numbers from 0 to {classes - 1}, as the target encodes them, "
            "got others"
        )
    return truth.astype(np.int64)


def _check_probabilities(prediction: FloatArray) -> None:
    sums = prediction.sum(axis=1)
    if (prediction < 0).any() or (np.abs(sums - 1) > SUM_TOLERANCE).any():
        raise TabNASError(
            "predictions must be probabilities, at least 0 and 1 in each row together, got others"
        )


def _check_errors(truth: NDArray[Any], prediction: FloatArray) -> None:
    with np.errstate(over="ignore"):
        finite = np.isfinite(truth - prediction).all()
    if not finite:
        raise TabNASError("errors must be finite, but some are beyond the largest float")
