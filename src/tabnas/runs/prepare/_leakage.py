"""Columns that give the target away: alone, they answer rows that they were not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget, Target
from tabnas.model import TreeInputs
from tabnas.types import FloatArray

SAMPLE_ROWS = 2_000
"""Rows of the training part, and of the validation part, that are looked at."""
MAX_ERROR = 0.01
"""A column gives the target away if its error is at most this share of knowing nothing's."""
MIN_MISTAKES = 20
"""Knowing nothing must be wrong about so many rows, or they are too few to tell."""
MISSING = -1e300  # below every number that trees are shown


class Half(NamedTuple):
    """Some rows as trees take them [rows, inputs], and class numbers or scaled values [rows]."""

    inputs: NDArray[np.float32]
    truth: NDArray[Any]


def find_leaks(inputs: TreeInputs, target: Target, first: Half, second: Half) -> list[str]:
    """Return the columns that alone predict each half of the rows from the other.

    A number is predicted as its neighbours in the other half are, a category as its own rows there.
    """
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    leaks: list[str] = []
    if not len(first.truth) or not len(second.truth):
        return leaks
    for k, (name, is_category) in enumerate(zip(inputs.columns, inputs.is_category, strict=True)):
        wrong, trivial = np.sum(
            [
                _errors(
                    Half(known.inputs[:, k], known.truth),
                    Half(asked.inputs[:, k], asked.truth),
                    is_category=is_category,
                    classes=classes,
                )
                for known, asked in ((first, second), (second, first))
            ],
            axis=0,
        )
        rows = trivial if classes else len(first.truth) + len(second.truth)
        if rows >= MIN_MISTAKES and trivial > 0 and wrong <= MAX_ERROR * trivial:
            leaks.append(name)
    return list(dict.fromkeys(leaks))


def leak_notes(names: Sequence[str], target: str) -> tuple[str, ...]:
    """What people should know of such columns."""
    return tuple(
        f"the column {name!r} alone gives the target {target!r} on rows held out; if it is not "
        "known before the target is, drop it"
        for name in names
    )


def _errors(known: Half, asked: Half, *, is_category: bool, classes: int) -> tuple[float, float]:
    """What one input gets wrong, and what knowing nothing does: mistakes, or distances."""
    values, rows = np.unique(_filled(known.inputs), return_inverse=True)
    wanted = _filled(asked.inputs)
    above = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    below = np.maximum(above - 1, 0)
    place = np.where(wanted - values[below] < values[above] - wanted, below, above)
    if classes:
        counts = np.zeros((len(values), classes))
        np.add.at(counts, (rows, known.truth), 1)
        trivial = counts.sum(axis=0).argmax()
        predicted = counts.argmax(axis=1)[place]
        if is_category:
            predicted = np.where(values[place] == wanted, predicted, trivial)
        return float((predicted != asked.truth).sum()), float((trivial != asked.truth).sum())
    middle = np.median(known.truth)
    means = np.bincount(rows, known.truth) / np.bincount(rows)
    if is_category:
        found = np.where(values[place] == wanted, means[place], middle)
    else:
        found = np.interp(wanted, values, means)
    within = (wanted >= values[0]) & (wanted <= values[-1])  # beyond, nothing is known
    errors, apart = np.abs(found - asked.truth), np.abs(middle - asked.truth)
    return float(errors[within].sum()), float(apart[within].sum())


def _filled(column: NDArray[np.float32]) -> FloatArray:
    values = column.astype(np.float64)
    values[np.isnan(values)] = MISSING
    return values
