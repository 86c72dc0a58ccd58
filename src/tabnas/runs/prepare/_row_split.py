"""Which rows are for what, and what they weigh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tabnas.data import (
    ClassTarget,
    Label,
    Split,
    Target,
    group_numbers,
    moments,
    split_by_group,
    split_by_time,
    split_random,
    split_stratified,
)
from tabnas.errors import TabNASError
from tabnas.runs._settings import RunSettings
from tabnas.runs.prepare._labelled_table import Labelled
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

MIN_BALANCED_ROWS = 10
"""Training rows that a class must have to weigh as much as the others, where they are balanced."""
MAX_NAMED = 5  # classes in a note


def split_rows(
    data: Labelled, settings: RunSettings, *, own_validation: bool, own_test: bool
) -> Split:
    """Training, validation and test rows; a part that a user brings takes none of the table."""
    if own_validation and own_test:
        everything = np.arange(len(data))
        _refuse_one_answer(data, everything)
        return Split(everything, everything[:0], everything[:0])
    shares = replace(settings.shares, test=0.0) if own_test else settings.shares
    rng = stream(settings.seed, "split")
    name = settings.order_column
    if name is not None and settings.order == "time":
        split = split_by_time(moments(name, data.features.column(name)), shares)
    elif name is not None:
        split = split_by_group(group_numbers(name, data.features.column(name)), shares, rng)
    elif isinstance(data.target, ClassTarget):
        split = split_stratified(data.truth, shares, rng)
    else:
        split = split_random(len(data), shares, rng)
    if own_validation:
        everything = np.sort(np.concatenate([split.train, split.validation]))
        split = replace(split, train=everything, validation=everything[:0])
    _refuse_one_answer(data, split.train)
    return split


def _refuse_one_answer(data: Labelled, train: IntArray) -> None:
    """A split by time or group can leave all of a class to one part."""
    if not len(train) or (data.truth[train] == data.truth[train[0]]).all():
        raise TabNASError(
            f"the training rows must show at least two values of the target {data.target.name!r}, "
            "but they show one; split otherwise, or give more rows"
        )


def balance_of(data: Labelled, train: IntArray, settings: RunSettings) -> FloatArray | None:
    """What a row of each class weighs in training, if that is to be balanced."""
    if settings.class_weight is None:
        return None
    classes = classes_of(data.target)
    weight = None if data.weight is None else data.weight[train]
    totals = np.bincount(data.truth[train], weight, minlength=len(classes))
    return class_balance(totals, np.bincount(data.truth[train], minlength=len(classes)))


def note_rare_classes(target: Target, rows: ArrayLike, settings: RunSettings) -> tuple[str, ...]:
    """What people should know of balanced classes that have few training rows."""
    if settings.class_weight is None:
        return ()
    classes = classes_of(target)
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


def classes_of(target: Target) -> tuple[Label, ...]:
    """The classes that are to be weighed; a quantity has none."""
    if not isinstance(target, ClassTarget):
        raise TabNASError(
            f"classes can be weighed only where there are some, but the target "
            f"{target.name!r} is a quantity"
        )
    return target.classes


def class_balance(totals: ArrayLike, rows: ArrayLike | None = None) -> FloatArray:
    """What a row of each class weighs so that all classes weigh the same.

    `totals` are what the rows of each class weigh so far, `rows` their numbers, where that is
    another thing. A class of fewer than ten rows weighs a tenth for each of them: with one or two
    rows that weigh as much as hundreds, networks learn those by heart.

    >>> class_balance([30, 10]).round(2).tolist()
    [0.67, 2.0]
    >>> class_balance([98, 2]).round(2).tolist()  # and not 25
    [0.51, 5.0]
    """
    present = np.asarray(totals, np.float64)
    counts = present if rows is None else np.asarray(rows, np.float64)
    # a class that training lacks counts as it comes where it is judged
    balance = np.ones(len(present))
    np.divide(present.sum(), len(present) * present, out=balance, where=present > 0)
    return np.where(present > 0, balance * np.minimum(1.0, counts / MIN_BALANCED_ROWS), balance)
