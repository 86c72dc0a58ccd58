"""What a model is to be compared with: knowing nothing, and boosted trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.data import ClassTarget, Encoded, NumberTarget, Target
from tabnas.errors import TabNASError, check_int
from tabnas.model._measures import unit_of
from tabnas.model._tree_inputs import TreeMatrix
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

FEW_ROWS = 50_000
MOST_ROWS = 250_000
"""Scikit-learn copies its inputs to float64: of larger tables it is given a random sample."""
MOST_VALIDATION_ROWS = 50_000
CHUNK = 1 << 16  # rows predicted at a time


def trivial_prediction(
    target: Target, truth: ArrayLike, weight: ArrayLike | None, rows: int
) -> FloatArray:
    """What to say without looking at the inputs, for that many rows.

    The shares of the classes in training, [rows, classes], or the mean, [rows]; truth as `score`
    takes it.

    >>> target = ClassTarget(name="bird", classes=("auk", "owl"))
    >>> trivial_prediction(target, [0, 1, 1, 1], None, 1).tolist()
    [[0.25, 0.75]]
    """
    actual = np.asarray(truth)
    importance = _importance(weight, len(actual))
    if not isinstance(target, ClassTarget):
        unit = unit_of(actual)  # sums of large values would overflow
        return np.full(rows, unit * np.average(actual / unit, weights=importance))
    totals = np.bincount(actual, weights=importance, minlength=len(target.classes))
    return np.tile(totals / totals.sum(), (rows, 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedRows:
    """Encoded rows with their truth, as `score` takes it, and weights."""

    encoded: Encoded
    truth: ArrayLike
    weight: ArrayLike | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeRows:
    """Rows as `TreeInputs` has them, with their truth, as `score` takes it, and weights."""

    inputs: TreeMatrix
    truth: ArrayLike
    weight: ArrayLike | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Boosted:
    """What boosted trees predict, and what they cost."""

    predictions: tuple[FloatArray, ...]  # of each part, as `score` takes them
    rows: int  # that it was fitted on
    seconds: float  # to fit
    trees: int
    nodes: int | None  # of all trees: each holds a number that was learned, as a parameter is


def boosted_prediction(
    target: Target,
    is_category: Sequence[bool],
    train: TreeRows,
    parts: Sequence[TreeMatrix],
    *,
    validation: TreeRows | None = None,
    seed: int = 0,
) -> Boosted:
    """Return predictions of scikit-learn's histogram gradient boosting for every part.

    Its settings are scikit-learn's own, so it stands for what anybody gets without tuning. It stops
    early on the validation rows, where scikit-learn can (1.7 or newer), else it grows all trees. Of
    more than 250,000 rows it sees a random sample of that size.

    Parameters
    ----------
    is_category : sequence of bool
        Whether each input is a category: `TreeInputs.is_category`.
    parts : sequence of TreeMatrix
        The rows to predict.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    kind = (
        HistGradientBoostingClassifier
        if isinstance(target, ClassTarget)
        else HistGradientBoostingRegressor
    )
    rng = stream(check_int("seed", seed, minimum=0), "trees")
    truth, weight, kept = _weighing(train, MOST_ROWS, rng)
    if isinstance(target, ClassTarget) and len(np.unique(truth)) == 1:
        shares = [trivial_prediction(target, truth, None, len(part)) for part in parts]
        return Boosted(predictions=tuple(shares), rows=len(truth), seconds=0.0, trees=0, nodes=0)
    stopping = _stopping(kind, target, truth, validation, rng)
    trees = kind(
        random_state=seed,
        early_stopping=bool(stopping),
        categorical_features=list(is_category) if any(is_category) else None,
    )
    matrix = _matrix(train.inputs, kept)
    start = perf_counter()
    # on few rows, threads wait for one another for longer than they work
    with threadpool_limits(1 if len(matrix) < FEW_ROWS else None, user_api="openmp"):
        trees.fit(matrix, _learned(target, truth), sample_weight=weight, **stopping)
        seconds = perf_counter() - start
        predictions = tuple(_predicted(trees, target, part) for part in parts)
    return Boosted(
        predictions=predictions,
        rows=len(matrix),
        seconds=seconds,
        trees=trees.n_iter_ * trees.n_trees_per_iteration_,
        nodes=_count_nodes(trees),
    )


def _count_nodes(trees: Any) -> int | None:
    """Count the nodes of all trees, which scikit-learn has in no public attribute.

    Return None with a scikit-learn that keeps them elsewhere.
    """
    try:
        return sum(len(tree.nodes) for of_step in trees._predictors for tree in of_step)
    except (AttributeError, TypeError):
        return None


def _stopping(
    kind: Any,
    target: Target,
    trained: NDArray[Any],
    validation: TreeRows | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """The validation rows as arguments of `fit`, or nothing where there are none to use."""
    if validation is None or "X_val" not in signature(kind.fit).parameters:
        return {}
    truth, weight, kept = _weighing(validation, MOST_VALIDATION_ROWS, rng)
    matrix = _matrix(validation.inputs, kept)
    if isinstance(target, ClassTarget):  # scikit-learn refuses classes that training had not
        known = np.isin(truth, trained)
        truth, weight, matrix = truth[known], weight[known], matrix[known]
    if not len(truth):
        return {}
    return {"X_val": matrix, "y_val": _learned(target, truth), "sample_weight_val": weight}


def _predicted(trees: Any, target: Target, part: TreeMatrix) -> FloatArray:
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    said = np.zeros((len(part), classes) if classes else len(part))
    for start in range(0, len(part), CHUNK):
        rows = slice(start, start + CHUNK)
        if classes:
            said[rows, trees.classes_] = trees.predict_proba(_matrix(part, rows))
        else:
            said[rows] = trees.predict(_matrix(part, rows))
    return target.decode(said) if isinstance(target, NumberTarget) else said


def _learned(target: Target, truth: NDArray[Any]) -> NDArray[Any]:
    """Quantities scaled, as networks learn them: squares of huge ones would overflow."""
    return target.scaled(truth) if isinstance(target, NumberTarget) else truth


def _matrix(inputs: TreeMatrix, rows: slice | IntArray) -> FloatArray:
    return np.asarray(inputs[rows], np.float64)


def _weighing(
    rows: TreeRows, most: int, rng: np.random.Generator
) -> tuple[NDArray[Any], FloatArray, slice | IntArray]:
    """Truth and weight of the rows that weigh something, and which those are; a sample at most."""
    truth = np.asarray(rows.truth)
    if len(truth) != len(rows.inputs):
        raise TabNASError(
            f"truth must have the {len(rows.inputs)} rows of the inputs, got {len(truth)}"
        )
    weight = _importance(rows.weight, len(truth))
    if len(truth) <= most and (weight > 0).all():
        return truth, weight, slice(None)
    kept = np.nonzero(weight > 0)[0]
    if len(kept) > most:
        kept = np.sort(rng.choice(kept, most, replace=False))
    return truth[kept], weight[kept], kept


def _importance(weight: ArrayLike | None, rows: int) -> FloatArray:
    importance = np.ones(rows) if weight is None else np.asarray(weight, np.float64)
    if importance.shape != (rows,) or not (importance >= 0).all() or not importance.any():
        raise TabNASError(
            "row weights must be at least 0, not all 0 and as many as the rows, got others"
        )
    return importance
