"""The folds of a run's rows: for candidates of small tables, and for teachers."""

from __future__ import annotations

import numpy as np

from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.streams import stream
from tabnas.teachers import NO_FOLD, assign_folds
from tabnas.types import IntArray


def assign_development_folds(data: PreparedData, count: int, seed: int) -> IntArray:
    """Return the fold of each training and validation row, for cross-validation."""
    rows, rng = data.train_and_validation, stream(seed, "folds")
    return assign_folds(count, data.target, rows.y, rng, groups=data.groups)


def assign_training_folds(data: PreparedData, count: int, seed: int) -> IntArray:
    """Return the fold of each training row; validation rows have none."""
    rows, n = data.train_in_memory, data.train_rows
    folds = np.full(len(data.train_and_validation), NO_FOLD)
    folds[:n] = assign_folds(
        count,
        data.target,
        rows.y,
        stream(seed, "teacher/folds"),
        groups=None if data.groups is None else data.groups[:n],
        times=None if data.times is None else data.times[:n],
    )
    return folds
