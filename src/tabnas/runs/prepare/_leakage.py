"""Leaking columns: a single one predicts the target of rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget, Target
from tabnas.model import TreeInputs
from tabnas.types import FloatArray

SAMPLE_ROWS = 2_000
"""Training rows, and validation rows, that are examined."""
MAX_ERROR = 0.01
"""A column leaks if its error is at most this share of the trivial predictor's."""
MIN_MISTAKES = 20
"""The trivial predictor must be wrong about this many rows, or there are too few to tell."""
MISSING = -1e300  # below every other value


class LabelledInputs(NamedTuple):
    """Inputs of trees [rows, inputs], and class indices or scaled targets [rows]."""

    inputs: NDArray[np.float32]
    y: NDArray[Any]


def find_leaks(
    inputs: TreeInputs, target: Target, first: LabelledInputs, second: LabelledInputs
) -> list[str]:
    """Return the columns that each predict one half of the rows from the other.

    A number is predicted by its neighbours in the other half, a category by its rows there.
    """
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    leaks: list[str] = []
    if not len(first.y) or not len(second.y):
        return leaks
    for k, (name, is_category) in enumerate(zip(inputs.columns, inputs.is_category, strict=True)):
        wrong, trivial = np.sum(
            [
                _errors(
                    LabelledInputs(known.inputs[:, k], known.y),
                    LabelledInputs(queries.inputs[:, k], queries.y),
                    is_category=is_category,
                    classes=classes,
                )
                for known, queries in ((first, second), (second, first))
            ],
            axis=0,
        )
        rows = trivial if classes else len(first.y) + len(second.y)
        if rows >= MIN_MISTAKES and trivial > 0 and wrong <= MAX_ERROR * trivial:
            leaks.append(name)
    return list(dict.fromkeys(leaks))


def describe_leaks(names: Sequence[str], target: str) -> tuple[str, ...]:
    """Return notes on leaking columns."""
    return tuple(
        f"the single column {name!r} predicts the target {target!r} of held-out rows; if its "
        "values are not known before the target, drop it"
        for name in names
    )


def _errors(
    known: LabelledInputs, queries: LabelledInputs, *, is_category: bool, classes: int
) -> tuple[float, float]:
    """Return the errors of one input and of the trivial predictor: mistakes, or distances."""
    values, rows = np.unique(_fill_missing(known.inputs), return_inverse=True)
    wanted = _fill_missing(queries.inputs)
    above = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    below = np.maximum(above - 1, 0)
    place = np.where(wanted - values[below] < values[above] - wanted, below, above)
    if classes:
        counts = np.zeros((len(values), classes))
        np.add.at(counts, (rows, known.y), 1)
        trivial = counts.sum(axis=0).argmax()
        predicted = counts.argmax(axis=1)[place]
        if is_category:
            predicted = np.where(values[place] == wanted, predicted, trivial)
        return float((predicted != queries.y).sum()), float((trivial != queries.y).sum())
    middle = np.median(known.y)
    means = np.bincount(rows, known.y) / np.bincount(rows)
    if is_category:
        predicted_y = np.where(values[place] == wanted, means[place], middle)
    else:
        predicted_y = np.interp(wanted, values, means)
    within = (wanted >= values[0]) & (wanted <= values[-1])  # beyond, nothing is known
    errors, apart = np.abs(predicted_y - queries.y), np.abs(middle - queries.y)
    return float(errors[within].sum()), float(apart[within].sum())


def _fill_missing(column: NDArray[np.float32]) -> FloatArray:
    values = column.astype(np.float64)
    values[np.isnan(values)] = MISSING
    return values
