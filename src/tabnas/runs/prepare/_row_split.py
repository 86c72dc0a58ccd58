"""The split of a table into training, validation and test rows, and class weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tabnas.data import (
    ClassTarget,
    Label,
    Split,
    Target,
    split_by_group,
    split_by_time,
    split_random,
    split_stratified,
    to_group_ids,
    to_times,
)
from tabnas.errors import TabNASError
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.settings import RunSettings
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

MIN_BALANCED_ROWS = 10
"""With fewer training rows, a class weighs less than the others even if classes are balanced."""
MAX_NAMED = 5  # classes in a note


def split_rows(
    data: LabelledTable, settings: RunSettings, *, has_validation: bool, has_test: bool
) -> Split:
    """Return the training, validation and test rows of a table.

    Rows that the user provides for validation or test replace that share of the table.
    """
    if has_validation and (has_test or not settings.shares.test):
        all_rows = np.arange(len(data))
        _check_two_values(data, all_rows)
        return Split(all_rows, all_rows[:0], all_rows[:0])
    shares = replace(settings.shares, test=0.0) if has_test else settings.shares
    rng = stream(settings.seed, "split")
    name = settings.split_column
    if name is not None and settings.split == "time":
        split = split_by_time(to_times(name, data.features.column(name)), shares)
    elif settings.split == "group":
        split = split_by_group(get_group_ids(data, settings), shares, rng)
    elif isinstance(data.target, ClassTarget):
        split = split_stratified(data.y, shares, rng)
    else:
        split = split_random(len(data), shares, rng)
    if has_validation:
        all_rows = np.sort(np.concatenate([split.train, split.validation]))
        split = replace(split, train=all_rows, validation=all_rows[:0])
    _check_two_values(data, split.train)
    return split


def get_group_ids(
    data: LabelledTable, settings: RunSettings, rows: IntArray | None = None
) -> IntArray:
    """Return a number for the group of each row, or of these rows, by first appearance.

    Groups are a column of the table or were given besides it, which makes no other difference.
    """
    name = settings.split_column
    if name is not None:
        return to_group_ids(name, data.features.column(name, rows))
    assert data.groups is not None
    groups = data.groups if rows is None else data.groups[rows]
    return to_group_ids("groups", pa.chunked_array([groups]))


def _check_two_values(data: LabelledTable, train: IntArray) -> None:
    """Check that training rows have two values: a split by time or group can separate classes."""
    if not len(train) or (data.y[train] == data.y[train[0]]).all():
        raise TabNASError(
            f"the training rows must show at least two values of the target {data.target.name!r}, "
            "but they show one; split otherwise, or give more rows"
        )


def compute_class_weights(
    data: LabelledTable, train: IntArray, settings: RunSettings
) -> FloatArray | None:
    """Return the weight of each class in training, or None if classes are not balanced."""
    if settings.class_weight is None:
        return None
    classes = require_classes(data.target)
    weight = None if data.weight is None else data.weight[train]
    totals = np.bincount(data.y[train], weight, minlength=len(classes))
    return balance_classes(totals, np.bincount(data.y[train], minlength=len(classes)))


def note_rare_classes(target: Target, rows: ArrayLike, settings: RunSettings) -> tuple[str, ...]:
    """Return notes on balanced classes that have few training rows."""
    if settings.class_weight is None:
        return ()
    classes = require_classes(target)
    rare = [
        f"{label!r} ({count})"
        for label, count in zip(classes, np.asarray(rows).tolist(), strict=True)
        if 0 < count < MIN_BALANCED_ROWS
    ]
    if not rare:
        return ()
    listed = ", ".join(rare[:MAX_NAMED]) + (" and others" if len(rare) > MAX_NAMED else "")
    return (
        f"classes of fewer than {MIN_BALANCED_ROWS} training rows weigh less than the others, "
        f"since so few rows say little of a class: {listed}; merge rare classes, or give more rows "
        "of them",
    )


def require_classes(target: Target) -> tuple[Label, ...]:
    """Return the classes of a target; raise an error for regression."""
    if not isinstance(target, ClassTarget):
        raise TabNASError(
            f"class_weight must be used with a classification target, but {target.name!r} is "
            "numeric"
        )
    return target.classes


def balance_classes(totals: ArrayLike, rows: ArrayLike | None = None) -> FloatArray:
    """Return the weight of a row of each class so that all classes have the same total.

    `totals` are the summed sample weights of each class, `rows` the number of its rows if that
    differs. A class of fewer than ten rows gets a tenth of its share for each row: networks would
    memorise one or two rows that weigh as much as hundreds.

    >>> balance_classes([30, 10]).round(2).tolist()
    [0.67, 2.0]
    >>> balance_classes([98, 2]).round(2).tolist()  # and not 25
    [0.51, 5.0]
    """
    present = np.asarray(totals, np.float64)
    counts = present if rows is None else np.asarray(rows, np.float64)
    # a class without training rows keeps weight 1 in validation
    balance = np.ones(len(present))
    np.divide(present.sum(), len(present) * present, out=balance, where=present > 0)
    return np.where(present > 0, balance * np.minimum(1.0, counts / MIN_BALANCED_ROWS), balance)
