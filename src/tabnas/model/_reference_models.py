"""Reference models to compare with: a constant prediction and boosted trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.data import ClassTarget, NumberTarget, Target
from tabnas.errors import TabNASError, check_int
from tabnas.model._tree_inputs import TreeMatrix
from tabnas.model._weighted_metrics import check_sample_weight, power_of_two_unit
from tabnas.processes import call_in_process
from tabnas.streams import stream
from tabnas.threads import claim_cores, get_threads, release_cores
from tabnas.types import FloatArray, IntArray

MIN_ROWS_FOR_THREADS = 50_000
MAX_TREE_ROWS = 250_000
"""Of larger tables a random sample is used, because scikit-learn copies its inputs to float64."""
MAX_TREE_VALIDATION_ROWS = 50_000
"""The number of validation rows of larger tables that early stopping uses."""
MAX_PROCESS_CELLS = 1 << 25
"""Larger tables are not copied to another process: 256 MB. Their fits work in compiled code for
most of the time, which does not keep Python's global lock."""
CHUNK_ROWS = 1 << 16  # rows predicted at a time
_BINNING_LOCK = Lock()


def trivial_prediction(
    target: Target, y_true: ArrayLike, sample_weight: ArrayLike | None, rows: int
) -> FloatArray:
    """Return the best constant prediction, which ignores the inputs, for `rows` rows.

    It is the frequencies of the classes in training, [rows, classes], or the mean, [rows]. The
    arrays are as for `score`.

    >>> target = ClassTarget(name="bird", classes=("auk", "owl"))
    >>> trivial_prediction(target, [0, 1, 1, 1], None, 1).tolist()
    [[0.25, 0.75]]
    """
    values = np.asarray(y_true)
    weight = check_sample_weight(sample_weight, len(values))
    if not isinstance(target, ClassTarget):
        unit = power_of_two_unit(values)  # sums of large values would overflow
        return np.full(rows, unit * np.average(values / unit, weights=weight))
    totals = np.bincount(values, weights=weight, minlength=len(target.classes))
    return np.tile(totals / totals.sum(), (rows, 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeRows:
    """Inputs of trees with their true values, as `score` takes them, and weights."""

    inputs: TreeMatrix
    y: ArrayLike
    weight: ArrayLike | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class BoostedTrees:
    """The predictions of boosted trees, and their size."""

    predictions: tuple[FloatArray, ...]  # for each part, as `score` takes them
    rows: int  # of training
    seconds: float  # of training
    trees: int
    nodes: int | None  # of all trees: each holds a learned number, as a parameter does


def fit_boosted_trees(
    target: Target,
    is_category: Sequence[bool],
    train: TreeRows,
    parts: Sequence[TreeMatrix],
    *,
    validation: TreeRows | None = None,
    seed: int = 0,
    max_iterations: int = 100,
) -> BoostedTrees:
    """Fit scikit-learn's histogram gradient boosting, and predict every part.

    By default all settings are scikit-learn's, so it shows what is possible without tuning. It
    stops early on the validation rows if scikit-learn supports that (1.7 or newer), else it grows
    all trees. Of more than 250,000 rows it uses a random sample of that size. From 50,000 rows on,
    idle cores help; the trees are the same. Several threads may fit trees at the same time, each in
    a process of its own where that is allowed (see `use_processes`).

    Parameters
    ----------
    target : Target
        The target to predict.
    is_category : sequence of bool
        Whether each input is a category: `TreeInputs.is_category`.
    train : TreeRows
        The rows to fit.
    parts : sequence of TreeMatrix
        The rows to predict.
    validation : TreeRows, optional
        The rows for early stopping.
    seed : int
        Determines the sample and the trees.
    max_iterations : int
        The maximal number of iterations of boosting.
    """
    rng = stream(check_int("seed", seed, minimum=0), "trees")
    y, weight, sample = _sample(train, MAX_TREE_ROWS, rng)
    if isinstance(target, ClassTarget) and len(np.unique(y)) == 1:
        constant = tuple(trivial_prediction(target, y, None, len(part)) for part in parts)
        return BoostedTrees(predictions=constant, rows=len(y), seconds=0.0, trees=0, nodes=0)
    fit = _Fit(
        target=target,
        matrix=_matrix(train.inputs, sample),
        y=target.scale_values(y),
        weight=weight,
        stopping=_early_stopping(target, y, validation, rng),
        settings={
            "random_state": seed % 2**32,  # the largest that scikit-learn takes
            "max_iter": max_iterations,
            "categorical_features": list(is_category) if any(is_category) else None,
        },
    )
    # on few rows, threads wait longer than they work
    helpers = claim_cores(get_threads() - 1) if len(y) >= MIN_ROWS_FOR_THREADS else 0
    try:
        cells = (len(y) + sum(map(len, parts))) * len(is_category)
        if cells > MAX_PROCESS_CELLS:
            return _fit_and_predict(fit, parts, 1 + helpers)
        matrices = [_matrix(part, slice(None)) for part in parts]
        return call_in_process(_fit_and_predict, fit, matrices, 1 + helpers)
    finally:
        release_cores(helpers)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Fit:
    """What scikit-learn's trees are fitted with."""

    target: Target
    matrix: FloatArray
    y: NDArray[Any]
    weight: FloatArray
    stopping: dict[str, Any]  # arguments of `fit`
    settings: dict[str, Any]  # arguments of the constructor


def import_boosted_trees() -> None:
    """Import what `fit_boosted_trees` needs, which takes a second."""
    import sklearn.ensemble  # noqa: F401
    import threadpoolctl  # noqa: F401


def _fit_and_predict(fit: _Fit, parts: Sequence[TreeMatrix], threads: int) -> BoostedTrees:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    is_classifier = isinstance(fit.target, ClassTarget)
    kind = HistGradientBoostingClassifier if is_classifier else HistGradientBoostingRegressor
    can_stop = "X_val" in signature(kind.fit).parameters
    stopping = fit.stopping if can_stop else {}
    trees = _with_locked_binning(kind)(early_stopping=bool(stopping), **fit.settings)
    start = perf_counter()
    with threadpool_limits(threads, user_api="openmp"):
        trees.fit(fit.matrix, fit.y, sample_weight=fit.weight, **stopping)
        seconds = perf_counter() - start
        predictions = tuple(_predict(trees, fit.target, part) for part in parts)
    return BoostedTrees(
        predictions=predictions,
        rows=len(fit.y),
        seconds=seconds,
        trees=trees.n_iter_ * trees.n_trees_per_iteration_,
        nodes=_count_nodes(trees),
    )


def _with_locked_binning(kind: Any) -> Any:
    """Return a subclass of which one instance at a time bins its inputs.

    While scikit-learn bins, it changes the filters of warnings, which all threads share.
    """

    def bin_data(self: Any, *arguments: Any, **options: Any) -> Any:
        with _BINNING_LOCK:
            return kind._bin_data(self, *arguments, **options)

    return type(kind.__name__, (kind,), {"_bin_data": bin_data})


def _count_nodes(trees: Any) -> int | None:
    """Count the nodes of all trees, for which scikit-learn has no public attribute.

    Return None if this version of scikit-learn has no such private attribute either.
    """
    try:
        return sum(len(tree.nodes) for step in trees._predictors for tree in step)
    except (AttributeError, TypeError):
        return None


def _early_stopping(
    target: Target,
    train_y: NDArray[Any],
    validation: TreeRows | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the validation rows as arguments of `fit`, if there are any for early stopping."""
    if validation is None:
        return {}
    y, weight, sample = _sample(validation, MAX_TREE_VALIDATION_ROWS, rng)
    matrix = _matrix(validation.inputs, sample)
    if isinstance(target, ClassTarget):  # scikit-learn refuses classes that training lacks
        known = np.isin(y, train_y)
        y, weight, matrix = y[known], weight[known], matrix[known]
    if not len(y):
        return {}
    return {"X_val": matrix, "y_val": target.scale_values(y), "sample_weight_val": weight}


def _predict(trees: Any, target: Target, part: TreeMatrix) -> FloatArray:
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    y_pred = np.zeros((len(part), classes) if classes else len(part))
    for start in range(0, len(part), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        if classes:
            y_pred[rows, trees.classes_] = trees.predict_proba(_matrix(part, rows))
        else:
            y_pred[rows] = trees.predict(_matrix(part, rows))
    return target.unscale_values(y_pred) if isinstance(target, NumberTarget) else y_pred


def _matrix(inputs: TreeMatrix, rows: slice | IntArray) -> FloatArray:
    return np.asarray(inputs[rows], np.float64)


def _sample(
    rows: TreeRows, max_rows: int, rng: np.random.Generator
) -> tuple[NDArray[Any], FloatArray, slice | IntArray]:
    """Return y, weight and numbers of up to `max_rows` rows with a positive weight."""
    y = np.asarray(rows.y)
    if len(y) != len(rows.inputs):
        raise TabNASError(f"y must have the {len(rows.inputs)} rows of the inputs, got {len(y)}")
    weight = check_sample_weight(rows.weight, len(y))
    if len(y) <= max_rows and (weight > 0).all():
        return y, weight, slice(None)
    sample = np.nonzero(weight > 0)[0]
    if len(sample) > max_rows:
        sample = np.sort(rng.choice(sample, max_rows, replace=False))
    return y[sample], weight[sample], sample
