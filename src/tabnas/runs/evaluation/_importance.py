"""Permutation importance: how much the loss rises when a column is shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tabnas.data import EncodedTable, TableEncoder
from tabnas.results import ColumnImportance
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.streams import stream

REPEATS = 5
MAX_ROWS, MIN_ROWS = 5_000, 100
WORK_SHARE = 0.02
"""The share of a run's work that may be spent on importance, about."""
TRAINING_PASSES = 3
"""A row takes one pass to predict and about three to train on."""


def count_rows_to_shuffle(plan: Plan, training: int, columns: int) -> int:
    """Return how many rows to shuffle: by the work of the run, so that no clock decides."""
    trained = plan.max_trained * plan.training.epochs * max(1, plan.folds)
    longer = plan.longer_epochs if plan.trains_longer else 0
    epochs = plan.search.epochs + trained + longer
    rows = WORK_SHARE * TRAINING_PASSES * epochs * training / (columns * REPEATS)
    return int(min(MAX_ROWS, max(MIN_ROWS, rows)))


def permutation_importance(
    part: EncodedRows, encoder: TableEncoder, loss: Callable[[EncodedTable], float], *, seed: int
) -> dict[str, ColumnImportance]:
    """Return the mean increase of `loss` and its standard deviation for every input column.

    All features of a column are shuffled together: its number, its mark of missing values, its
    cycles. Columns with the same information replace one another, so each seems less important.
    """
    encoded = part.encoded
    before = loss(encoded)
    numeric, categorical = encoded.numeric.copy(), encoded.categorical.copy()
    importances = {}
    for number, (name, features, codes) in enumerate(_slices(encoder)):
        increases = []
        for repeat in range(REPEATS):
            order = stream(seed, f"importance/{number}/{repeat}").permutation(len(part))
            numeric[:, features] = encoded.numeric[order, features]
            categorical[:, codes] = encoded.categorical[order, codes]
            increases.append(loss(EncodedTable(numeric, categorical)) - before)
        numeric[:, features] = encoded.numeric[:, features]
        categorical[:, codes] = encoded.categorical[:, codes]
        # in multiples of the largest: squares in the units of the target could overflow
        unit = float(np.abs(increases).max()) or 1.0
        shares = np.array(increases) / unit
        importances[name] = ColumnImportance(unit * shares.mean(), unit * shares.std(ddof=1))
    return importances


def _slices(encoder: TableEncoder) -> Iterator[tuple[str, slice, slice]]:
    """Yield each column with its slices of the numeric features and of the categories."""
    number = category = 0
    for column in encoder.columns:
        features, codes = len(column.features), int(bool(column.n_categories))
        yield column.name, slice(number, number + features), slice(category, category + codes)
        number, category = number + features, category + codes
