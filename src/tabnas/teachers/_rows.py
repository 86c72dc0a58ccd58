"""The rows of a run, as teachers read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import EncodedTable, TableEncoder, Target
from tabnas.model import make_examples
from tabnas.nets import Examples, NetworkSpec
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

TABLE = 0
"""In `TeacherRows.tables`: a row of the table of the run."""
VALIDATION_TABLE = 1
"""In `TeacherRows.tables`: a row of the user's own validation rows."""
UNLABELLED_TABLE = 2
"""In `TeacherRows.tables`: a row of another table, without a target."""
STOPPING_SHARE = 0.1
"""The share of the rows of a fit that early stopping uses."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TeacherRows:
    """Rows with a target, then rows that teachers only answer.

    No limit has shortened their vocabularies or narrowed their embeddings.
    """

    encoder: TableEncoder
    target: Target
    spec: NetworkSpec
    encoded: EncodedTable  # of all rows
    y: NDArray[Any]  # of the rows with a target: class indices, or values in the target's units
    weight: FloatArray | None = None  # of the same rows, in training
    groups: IntArray | None = None  # of the same rows; no split separates the rows of a group
    row_numbers: IntArray | None = None  # of all rows in the tables of the user, where it is known
    tables: IntArray | None = None  # the table that each row is of; None if all are of `TABLE`

    def __len__(self) -> int:
        return len(self.encoded)

    def examples(self, rows: IntArray, *, with_target: bool = False) -> Examples:
        """Return rows as examples of a network."""
        encoded = self.encoded.take(rows)
        if not with_target:
            return make_examples(self.spec, encoded)
        weight = None if self.weight is None else self.weight[rows]
        return make_examples(self.spec, encoded, self.target.scale_values(self.y[rows]), weight)

    def split_for_stopping(self, train: IntArray, seed: int) -> tuple[IntArray, IntArray]:
        """Return the rows of a fit to learn from, and others to stop early by."""
        rng = stream(seed, "teacher/stopping")
        groups = np.arange(len(train)) if self.groups is None else self.groups[train]
        names = rng.permutation(np.unique(groups))
        stopping = np.isin(groups, names[: max(1, round(STOPPING_SHARE * len(names)))])
        if stopping.all():  # one group
            return train, train
        return train[~stopping], train[stopping]
