"""How much a model leans on each column: what its loss becomes when the column is shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tabnas.data import Encoded, TableEncoder
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.streams import stream

REPEATS = 5
MOST_ROWS, FEWEST_ROWS = 5_000, 100
SHARE = 0.02
"""About how much of the work of a run may go into this."""
TRAINED = 3
"""A row is computed so many times faster than it is trained on: one pass instead of three."""


@dataclass(frozen=True)
class Importance:
    """What shuffling one column does to the loss, over the repeats."""

    column: str
    increase: float
    deviation: float


def rows_to_shuffle(plan: Plan, training: int, columns: int) -> int:
    """How many rows to judge by, from the work of the run, so that a clock decides nothing."""
    epochs = plan.search.epochs + plan.candidates * plan.training.epochs * max(1, plan.folds)
    rows = SHARE * TRAINED * epochs * training / (columns * REPEATS)
    return int(min(MOST_ROWS, max(FEWEST_ROWS, rows)))


def permutation_importance(
    part: EncodedRows, encoder: TableEncoder, loss: Callable[[Encoded], float], *, seed: int
) -> list[Importance]:
    """The mean increase of `loss`, and its deviation, for every column that is an input.

    All features of a column are shuffled together: its number, its mark of missing values, its
    cycles. Columns that say the same stand in for one another, and each seems to matter less.
    """
    whole = part.encoded
    before = loss(whole)
    numeric, categorical = whole.numeric.copy(), whole.categorical.copy()
    found = []
    for number, (name, here, codes) in enumerate(_places(encoder)):
        increases = []
        for repeat in range(REPEATS):
            order = stream(seed, f"importance/{number}/{repeat}").permutation(len(part))
            numeric[:, here] = whole.numeric[order, here]
            categorical[:, codes] = whole.categorical[order, codes]
            increases.append(loss(Encoded(numeric, categorical)) - before)
        numeric[:, here], categorical[:, codes] = (
            whole.numeric[:, here],
            whole.categorical[:, codes],
        )
        # in multiples of the largest: squares of a target's own units could overflow
        unit = float(np.abs(increases).max()) or 1.0
        shares = np.array(increases) / unit
        found.append(Importance(name, unit * shares.mean(), unit * shares.std(ddof=1)))
    return found


def _places(encoder: TableEncoder) -> Iterator[tuple[str, slice, slice]]:
    """Where each column is among the numeric features and among the categories."""
    number = category = 0
    for column in encoder.columns:
        features, codes = len(column.features), int(bool(column.categories))
        yield column.name, slice(number, number + features), slice(category, category + codes)
        number, category = number + features, category + codes
