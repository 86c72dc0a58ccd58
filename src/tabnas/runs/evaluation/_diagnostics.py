"""How far a model can be trusted: its mistakes, its probabilities, and what it leans on."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from tabnas.data import ClassTarget, Encoded
from tabnas.errors import TabNASError
from tabnas.model import Metric, make_examples, primary_loss
from tabnas.nets import SuperNet
from tabnas.runs.evaluation._importance import REPEATS, permutation_importance, rows_to_shuffle
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

MOST_CLASSES = 20
"""Of a confusion matrix; with more classes, the rarest are one."""
MOST_PAIRS = 500
BINS = 10
RESIDUAL_BINS = 25
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
DEVIATIONS = 1.959963984540054  # of 95 % of a normal variable
DIGITS = 6

Predict = Callable[[Encoded], FloatArray]


def diagnose(
    net: SuperNet,
    architecture: Architecture,
    data: PreparedData,
    plan: Plan,
    metric: Metric,
    seed: int,
) -> dict[str, Any] | None:
    """Facts about a trained network on rows that it did not learn from, fit for JSON.

    On the test part, else on the rows that the architecture was chosen by; none where those were
    folds, since the network has learned from all of them. Rows that weigh nothing are left out; the
    others count alike, but for the importance of columns, which is by the metric.
    """
    part = data.test or (None if plan.folds else data.validation)
    if part is None:
        return None
    if part.weight is not None:
        part = part.take(np.flatnonzero(part.weight > 0))
    target, task = data.target, data.task

    def predict(encoded: Encoded) -> FloatArray:
        return data.target_prediction(net.logits(architecture, make_examples(task, encoded)))

    prediction = predict(part.encoded)
    if not len(part) or not np.isfinite(prediction).all():
        raise TabNASError("rows and finite predictions are needed, but there are none")
    said: dict[str, Any] = {
        "rows": "test" if data.test is not None else "validation",
        "count": len(part),
    }
    if isinstance(target, ClassTarget):
        codes = np.asarray(part.truth, np.int64)
        said["confusion"] = confusion(codes, prediction.argmax(axis=1), target.classes)
        said["reliability"] = reliability(codes, prediction, target.classes)
    else:
        said["residuals"] = residuals(np.asarray(part.truth, np.float64), prediction, seed)
    said["importance"] = _importance(predict, part, data, plan, metric, seed)
    return said


def confusion(truth: IntArray, said: IntArray, classes: tuple[Any, ...]) -> dict[str, Any]:
    """Rows by true class (down) and predicted class (across); the rarest classes as one."""
    kept = np.arange(len(classes))
    if len(classes) > MOST_CLASSES:
        frequent = np.argsort(-np.bincount(truth, minlength=len(classes)), kind="stable")
        kept = np.sort(frequent[: MOST_CLASSES - 1])
    pooled = len(classes) - len(kept)
    place = np.full(len(classes), len(kept))
    place[kept] = np.arange(len(kept))
    size = len(kept) + bool(pooled)
    counts = np.bincount(size * place[truth] + place[said], minlength=size * size)
    right = int((truth == said).sum())
    return {
        "classes": [classes[k] for k in kept],
        "pooled": pooled,
        "right": right,
        "counts": counts.reshape(size, size).tolist(),
    }


def reliability(truth: IntArray, said: FloatArray, classes: tuple[Any, ...]) -> dict[str, Any]:
    """Whether what is given a probability of 80 % happens 80 times of 100.

    Of the second of two classes, or of the likeliest of several; in bins of equal width, with
    Wilson's intervals.
    """
    if len(classes) == 2:
        chance, happened = said[:, 1], truth == 1
    else:
        chance, happened = said.max(axis=1), said.argmax(axis=1) == truth
    place = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    bins: list[dict[str, Any]] = []
    for k in np.unique(place):
        inside = place == k
        rows, share = int(inside.sum()), float(happened[inside].mean())
        low, high = wilson(share, rows)
        bins.append(
            {
                "low": int(k) / BINS,
                "high": (int(k) + 1) / BINS,
                "rows": rows,
                "probability": _rounded(chance[inside].mean()),
                "share": _rounded(share),
                "share_low": _rounded(low),
                "share_high": _rounded(high),
            }
        )
    gap = sum(b["rows"] * abs(b["probability"] - b["share"]) for b in bins) / len(truth)
    return {
        "of": "second class" if len(classes) == 2 else "likeliest class",
        "gap": _rounded(gap),
        "bins": bins,
    }


def wilson(share: float, rows: int) -> tuple[float, float]:
    """A 95 % interval for a share that was seen in so many rows.

    >>> [round(end, 3) for end in wilson(0.5, 10)]
    [0.237, 0.763]
    """
    z = DEVIATIONS**2 / rows
    middle = (share + z / 2) / (1 + z)
    reach = DEVIATIONS * sqrt(share * (1 - share) / rows + z / (4 * rows)) / (1 + z)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def residuals(truth: FloatArray, said: FloatArray, seed: int) -> dict[str, Any]:
    """What predictions miss by (truth less prediction), and some of the rows to look at."""
    errors = truth - said
    edges = np.quantile(errors, (0.005, 0.995))
    inside = np.clip(errors, *edges)  # what lies beyond counts in the outermost bins
    counts, edges = np.histogram(inside, RESIDUAL_BINS)
    shown = np.arange(len(truth))
    if len(truth) > MOST_PAIRS:
        drawn = stream(seed, "residuals shown").choice(len(truth), MOST_PAIRS, replace=False)
        shown = np.sort(drawn)
    quantiles = np.quantile(errors, QUANTILES)
    return {
        "quantiles": {str(q): _rounded(v) for q, v in zip(QUANTILES, quantiles, strict=True)},
        "histogram": {"edges": [_rounded(e) for e in edges], "counts": counts.tolist()},
        "truth": [_rounded(value) for value in truth[shown]],
        "prediction": [_rounded(value) for value in said[shown]],
    }


def _importance(
    predict: Predict, part: EncodedRows, data: PreparedData, plan: Plan, metric: Metric, seed: int
) -> dict[str, Any] | None:
    """By the metric that candidates were chosen by; none if the rows do not define it."""
    most = rows_to_shuffle(plan, len(data.development), len(data.encoder.columns))
    if len(part) > most:
        drawn = stream(seed, "importance").choice(len(part), most, replace=False)
        part = part.take(np.sort(drawn))

    def loss(encoded: Encoded) -> float:
        return primary_loss(metric, data.target, part.truth, predict(encoded), part.weight)

    try:
        found = permutation_importance(part, data.encoder, loss, seed=seed)
    except TabNASError:
        return None
    return {
        "rows": len(part),
        "repeats": REPEATS,
        "columns": {
            one.column: {
                "increase": _rounded(one.increase),
                "deviation": _rounded(one.deviation),
            }
            for one in found
        },
    }


def _rounded(value: float) -> float:
    """So many significant digits, for a file that people read."""
    return float(f"{value:.{DIGITS}g}")
