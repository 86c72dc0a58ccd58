"""Validation of y, groups and sample_weight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from tabnas.data import ClassTarget, Table, Target, target_from_dict
from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable
from tabnas.types import FloatArray, IntArray

DEFAULT_NAME = "y"


def target_name(y: Any) -> str:
    """Return the name of a series, or "y"."""
    name = getattr(y, "name", None)
    return name.strip() or DEFAULT_NAME if isinstance(name, str) else DEFAULT_NAME


def check_y(estimator: Any, y: Any, rows: int, *, suffix: str = "") -> NDArray[Any]:
    """Return y as an array with one value per row; missing values are errors.

    With the suffix "_val" they are those of X_val.
    """
    if y is None:
        raise TabNASError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise TabNASError(
            f"y{suffix} must have a value for every row, but "
            f"{int(np.ma.getmaskarray(y).sum())} are masked; remove such rows"
        )
    if hasattr(getattr(y, "dtype", None), "na_value"):  # scikit-learn makes them floats
        if y.isna().any():
            raise TabNASError(
                f"y{suffix} must have a value for every row, but {int(y.isna().sum())} are missing "
                "(NaN); remove such rows"
            )
        y = np.asarray(y)
    flat: NDArray[Any] = column_or_1d(y, warn=True)
    if len(flat) != rows:
        raise TabNASError(
            f"y{suffix} must have a value for each of the {rows} rows of X{suffix}, got {len(flat)}"
        )
    if flat.dtype == object:
        flat = _infer_dtype(flat, f"y{suffix}")
    assert_all_finite(flat, input_name=f"y{suffix}")
    return flat


def _infer_dtype(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert an array of Python's numbers or booleans to NumPy's types."""
    if any(value is None for value in values):
        raise TabNASError(f"{name} must have a value for every row, got None; remove such rows")
    types = set(map(type, values))
    return np.array(values.tolist()) if types in ({int}, {float}, {bool}) else values


def encode_classes(values: NDArray[Any], name: str) -> tuple[NDArray[Any], ClassTarget, IntArray]:
    """Return the sorted labels, their target, and the class number of each row."""
    check_classification_targets(values)
    classes, codes = np.unique(values, return_inverse=True)
    labels = tuple(str(v) if isinstance(v, str) else v for v in classes.tolist())
    if len(labels) < 2:
        raise TabNASError(f"y must have at least two classes, got one class: {labels[0]!r}")
    target = ClassTarget(name=name, classes=labels)
    try:
        target_from_dict(target.to_dict())  # a model that cannot be loaded must not be saved
    except TabNASError:
        raise TabNASError(
            "the labels of y must be texts, numbers or booleans, of one type; texts must differ in "
            "more than the spaces around them and must not be marks of missing values; got "
            f"{', '.join(map(repr, labels[:5]))}"
        ) from None
    return classes, target, np.asarray(codes, np.int64)


def encode_validation_labels(values: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Return the class number of each label of y_val; labels that y lacks are errors."""
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    labels = values.tolist()
    unknown = list(dict.fromkeys(label for label in labels if label not in numbers))
    if unknown:
        known = ", ".join(map(repr, list(numbers)[:5])) + ", ..." * (len(numbers) > 5)
        raise TabNASError(
            f"y_val must have labels of y, which are {known}, got {unknown[0]!r}; leave these rows "
            "out, or add rows of the class to X"
        )
    return np.array([numbers[label] for label in labels], np.int32)


def check_numeric_y(values: NDArray[Any], name: str = "y") -> FloatArray:
    """Return y as finite floats."""
    try:
        if values.dtype.kind not in "biufOU":
            raise TypeError
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TabNASError(
            f"{name} must hold numbers, got {values.dtype}; use TabNASClassifier for classes"
        ) from None
    assert_all_finite(numbers, input_name=name)
    return numbers


def check_sample_weight(sample_weight: Any, rows: int) -> FloatArray | None:
    """Return the weights, scaled to a maximum of 1, or None if all rows have the same."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, np.ma.MaskedArray) and np.ma.is_masked(sample_weight):
        raise TabNASError("sample_weight must be finite and at least zero, but some are masked")
    try:
        weight = np.array(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise TabNASError("sample_weight must hold numbers, got other values") from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.shape != (rows,):
        raise TabNASError(f"sample_weight must have the shape ({rows},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise TabNASError("sample_weight must be finite and at least zero, got other values")
    if not weight.any():
        raise TabNASError("sample_weight must have a positive weight, but every weight is zero")
    if weight.min() == weight.max():
        return None
    return np.asarray(weight / weight.max())


def compute_validation_weight(weight: FloatArray | None, rows: int) -> FloatArray | None:
    """Return as many weights as there are validation rows, each the mean of those of X.

    `weight` is as `check_sample_weight` returns it.
    """
    return None if weight is None else np.full(rows, weight[weight > 0].mean())


def make_labelled_table(
    table: Table,
    target: Target,
    y: NDArray[Any],
    weight: FloatArray | None,
    groups: Any = None,
) -> LabelledTable:
    """Return the rows with their targets, weights and groups, without rows of weight 0."""
    data = LabelledTable(table, target, y, weight)
    if groups is not None:
        data = data.with_groups(_check_groups(groups))
    if weight is None or weight.all():
        return data
    rows = np.nonzero(weight)[0]
    return replace(data.take(rows), weight=check_sample_weight(weight[rows], len(rows)))


def _check_groups(groups: Any) -> NDArray[Any]:
    """Return groups as an array of one dimension."""
    if isinstance(groups, np.ma.MaskedArray) and np.ma.is_masked(groups):
        raise TabNASError("groups must have a label for every row, but some are masked")
    try:
        # an array first: scikit-learn makes floats of pandas' own integers
        flat: NDArray[Any] = column_or_1d(np.asarray(groups))
    except ValueError:
        raise TabNASError(
            f"groups must have one label for each row, got the shape {np.shape(groups)}"
        ) from None
    return flat
