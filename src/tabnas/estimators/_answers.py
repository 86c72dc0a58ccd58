"""y as classes or quantities, and what its rows weigh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from tabnas.data import ClassTarget, Table, Target, target_from_dict
from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable
from tabnas.types import FloatArray, IntArray

UNNAMED = "y"


def target_name(y: Any) -> str:
    """The name of a series, or "y"."""
    name = getattr(y, "name", None)
    return name.strip() or UNNAMED if isinstance(name, str) else UNNAMED


def answers(estimator: Any, y: Any, rows: int) -> NDArray[Any]:
    """One answer a row; missing ones are refused."""
    if y is None:
        raise TabNASError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    flat: NDArray[Any] = column_or_1d(y, warn=True)
    if len(flat) != rows:
        raise TabNASError(
            f"y must have an answer for each of the {rows} rows of X, got {len(flat)}"
        )
    if flat.dtype == object:
        flat = _of_one_type(flat)
    assert_all_finite(flat, input_name="y")
    return flat


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Python's numbers and truth values as NumPy's; texts stay as they are."""
    if any(value is None for value in values):
        raise TabNASError("y must have an answer for every row, got None; leave such rows out")
    kinds = set(map(type, values))
    return np.array(values.tolist()) if kinds in ({int}, {float}, {bool}) else values


def classes_of(values: NDArray[Any], name: str) -> tuple[NDArray[Any], ClassTarget, IntArray]:
    """The labels in order, the target that carries them, and the number of each row's."""
    check_classification_targets(values)
    classes, codes = np.unique(values, return_inverse=True)
    labels = tuple(str(v) if isinstance(v, str) else v for v in classes.tolist())
    if len(labels) < 2:
        raise TabNASError(f"y must have at least two classes, got one class: {labels[0]!r}")
    target = ClassTarget(name=name, classes=labels)
    try:
        target_from_dict(target.to_dict())  # what could not be loaded must not be saved
    except TabNASError:
        raise TabNASError(
            "the labels of y must be texts, numbers or truth values, of one type, and texts must "
            "differ in more than the spaces around them and be no marks of missing values, "
            f"got others: {', '.join(map(repr, labels[:5]))}"
        ) from None
    return classes, target, np.asarray(codes, np.int64)


def quantities(values: NDArray[Any]) -> FloatArray:
    """The values as floats."""
    try:
        if values.dtype.kind not in "biufOU":
            raise TypeError
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TabNASError(
            f"y must hold numbers, but it holds {values.dtype}; for classes, take TabNASClassifier"
        ) from None
    assert_all_finite(numbers, input_name="y")
    return numbers


def row_weights(given: Any, rows: int) -> FloatArray | None:
    """The weights, of which the largest is 1; None if all rows weigh the same."""
    if given is None:
        return None
    try:
        weight = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise TabNASError("sample_weight must hold numbers, but it holds others") from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.shape != (rows,):
        raise TabNASError(f"sample_weight must have the shape ({rows},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise TabNASError("sample_weight must be finite and at least zero, got other weights")
    if not weight.any():
        raise TabNASError("sample_weight must have a weight above zero, but every weight is zero")
    if weight.min() == weight.max():
        return None
    return np.asarray(weight / weight.max())


def labelled(
    table: Table, target: Target, truth: NDArray[Any], weight: FloatArray | None
) -> LabelledTable:
    """Rows with their answers, without those that weigh nothing."""
    if weight is None or weight.all():
        return LabelledTable(table, target, truth, weight)
    kept = np.nonzero(weight)[0]
    return LabelledTable(
        table.take(kept), target, truth[kept], row_weights(weight[kept], len(kept))
    )
