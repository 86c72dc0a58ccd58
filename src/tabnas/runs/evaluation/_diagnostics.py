"""Diagnose a model: its errors, the calibration of its probabilities, what it relies on."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from tabnas.data import ClassTarget, EncodedTable
from tabnas.errors import TabNASError
from tabnas.model import Metric, make_examples, primary_loss
from tabnas.nets import SuperNet
from tabnas.results import (
    ColumnImportance,
    Confusion,
    Diagnostics,
    Histogram,
    Importance,
    Reliability,
    ReliabilityBin,
    Residuals,
)
from tabnas.runs.evaluation._importance import (
    REPEATS,
    count_rows_to_shuffle,
    permutation_importance,
)
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture
from tabnas.streams import sample_rows
from tabnas.types import FloatArray, IntArray

MAX_CLASSES = 20
"""Of a confusion matrix; of more classes, the rarest are pooled."""
MAX_PAIRS = 500
N_BINS = 10
N_RESIDUAL_BINS = 25
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
Z_95 = 1.959963984540054  # of 95 % of a normal variable
DIGITS = 6

Predict = Callable[[EncodedTable], FloatArray]


def diagnose(
    net: SuperNet,
    architecture: Architecture,
    data: PreparedData,
    plan: Plan,
    metric: Metric,
    seed: int,
) -> Diagnostics | None:
    """Diagnose a trained network on rows that it was not trained on.

    These are the test rows, or else the validation rows that the architecture was chosen by. After
    cross-validation without test rows there are none, and the result is None. Rows of weight 0 are
    left out; the others count alike, but for the importance of columns, which is by the metric.
    """
    part = data.test or (None if plan.folds else data.validation)
    if part is None:
        return None
    if part.weight is not None:
        part = part.take(np.flatnonzero(part.weight > 0))
    target, spec = data.target, data.spec

    def predict(encoded: EncodedTable) -> FloatArray:
        return data.target_prediction(net.logits(architecture, make_examples(spec, encoded)))

    prediction = predict(part.encoded)
    if not len(part):
        raise TabNASError("diagnostics must have rows with a positive weight, but there are none")
    if not np.isfinite(prediction).all():
        raise TabNASError("predictions must be finite for diagnostics, but some are not")
    confusion = reliability = residuals = None
    if isinstance(target, ClassTarget):
        codes = np.asarray(part.y, np.int64)
        confusion = count_confusion(codes, prediction.argmax(axis=1), target.classes)
        reliability = measure_reliability(codes, prediction, target.classes)
    else:
        residuals = summarize_residuals(np.asarray(part.y, np.float64), prediction, seed)
    return Diagnostics(
        split="test" if data.test is not None else "validation",
        rows=len(part),
        confusion=confusion,
        reliability=reliability,
        residuals=residuals,
        importance=_measure_importance(predict, part, data, plan, metric, seed),
    )


def count_confusion(y_true: IntArray, y_pred: IntArray, classes: tuple[Any, ...]) -> Confusion:
    """Return the confusion matrix; the rarest of many classes are pooled."""
    separate = np.arange(len(classes))
    if len(classes) > MAX_CLASSES:
        frequent = np.argsort(-np.bincount(y_true, minlength=len(classes)), kind="stable")
        separate = np.sort(frequent[: MAX_CLASSES - 1])
    pooled = len(classes) - len(separate)
    place = np.full(len(classes), len(separate))
    place[separate] = np.arange(len(separate))
    size = len(separate) + bool(pooled)
    counts = np.bincount(size * place[y_true] + place[y_pred], minlength=size * size)
    return Confusion(
        classes=tuple(classes[k] for k in separate),
        pooled_classes=pooled,
        correct=int((y_true == y_pred).sum()),
        counts=tuple(map(tuple, counts.reshape(size, size).tolist())),
    )


def measure_reliability(
    y_true: IntArray, probabilities: FloatArray, classes: tuple[Any, ...]
) -> Reliability:
    """Compare predicted probabilities with how often the class occurred.

    The probabilities are those of the second of two classes, or of the most likely of several; in
    bins of equal width, with Wilson's intervals.
    """
    if len(classes) == 2:
        predicted, occurred = probabilities[:, 1], y_true == 1
    else:
        predicted, occurred = probabilities.max(axis=1), probabilities.argmax(axis=1) == y_true
    place = np.minimum((predicted * N_BINS).astype(np.int64), N_BINS - 1)
    bins: list[ReliabilityBin] = []
    for k in np.unique(place):
        inside = place == k
        rows, observed = int(inside.sum()), float(occurred[inside].mean())
        low, high = wilson_interval(observed, rows)
        bins.append(
            ReliabilityBin(
                low=int(k) / N_BINS,
                high=(int(k) + 1) / N_BINS,
                rows=rows,
                predicted=_round(predicted[inside].mean()),
                observed=_round(observed),
                observed_low=_round(low),
                observed_high=_round(high),
            )
        )
    error = sum(b.rows * abs(b.predicted - b.observed) for b in bins) / len(y_true)
    return Reliability(
        probability_of="second class" if len(classes) == 2 else "most likely class",
        calibration_error=_round(error),
        bins=tuple(bins),
    )


def wilson_interval(share: float, rows: int) -> tuple[float, float]:
    """Return a 95 % interval for a share that was observed in this many rows.

    >>> [round(end, 3) for end in wilson_interval(0.5, 10)]
    [0.237, 0.763]
    """
    z = Z_95**2 / rows
    middle = (share + z / 2) / (1 + z)
    half = Z_95 * sqrt(share * (1 - share) / rows + z / (4 * rows)) / (1 + z)
    return max(0.0, middle - half), min(1.0, middle + half)


def summarize_residuals(y_true: FloatArray, y_pred: FloatArray, seed: int) -> Residuals:
    """Return the distribution of the errors y_true - y_pred, and a sample of rows."""
    errors = y_true - y_pred
    clipped = np.clip(errors, *np.quantile(errors, (0.005, 0.995)))  # into the outermost bins
    counts, edges = np.histogram(clipped, N_RESIDUAL_BINS)
    sample = sample_rows(len(y_true), MAX_PAIRS, seed=seed, name="residuals shown")
    quantiles = np.quantile(errors, QUANTILES)
    return Residuals(
        quantiles={str(q): _round(v) for q, v in zip(QUANTILES, quantiles, strict=True)},
        histogram=Histogram(tuple(map(_round, edges)), tuple(counts.tolist())),
        y_true=tuple(map(_round, y_true[sample])),
        y_pred=tuple(map(_round, y_pred[sample])),
    )


def _measure_importance(
    predict: Predict, part: EncodedRows, data: PreparedData, plan: Plan, metric: Metric, seed: int
) -> Importance | None:
    """Measure importance by the metric of the run; None if the rows do not define it."""
    rows = count_rows_to_shuffle(plan, len(data.train_and_validation), len(data.encoder.columns))
    if len(part) > rows:
        part = part.take(sample_rows(len(part), rows, seed=seed, name="importance"))

    def loss(encoded: EncodedTable) -> float:
        return primary_loss(metric, data.target, part.y, predict(encoded), part.weight)

    try:
        columns = permutation_importance(part, data.encoder, loss, seed=seed)
    except TabNASError:
        return None
    return Importance(
        rows=len(part),
        repeats=REPEATS,
        columns={
            name: ColumnImportance(_round(column.increase), _round(column.std))
            for name, column in columns.items()
        },
    )


def _round(value: float) -> float:
    """Round to some significant digits, for a file that people read."""
    return float(f"{value:.{DIGITS}g}")
