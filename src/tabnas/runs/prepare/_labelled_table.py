"""A table whose target column is known: features on one side, the truth on the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import NumberTarget, Table, Target, fit_target, rows_with_target
from tabnas.data.reading import DecimalContext, fit_number_format, is_text, label_note
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features with what is to be predicted from them."""

    features: Table
    target: Target
    truth: NDArray[Any]  # [rows]: class numbers, or values in their own units
    weight: FloatArray | None = None  # [rows], a user's own
    without_target: int = 0  # rows of the table that are not among these
    notes: tuple[str, ...] = ()  # what people should know of the target

    @classmethod
    def of(cls, table: Table, target: str | Target, *, task: Any = None) -> Labelled:
        """Split the target column off; rows without a target are left out.

        With a target that is already fitted, labels must be among its own.
        """
        name = target if isinstance(target, str) else target.name
        column = table.column(name)
        fitted = None if isinstance(target, str) else target
        decimals = table.decimals_for(column)
        present = rows_with_target(column, fitted)
        missing = len(table) - len(present)
        if missing:
            column, table = column.take(present), table.take(present)
        if isinstance(target, str):
            target = fit_target(name, column, task=task, decimals=decimals)
            notes = _notes(target, column, decimals)
        else:
            notes = ()
        mark = decimals.mark if fitted is not None and is_text(column) else None
        truth = target.truth(column, mark)
        return cls(table.drop([name]), target, truth, without_target=missing, notes=notes)

    def weighing(self) -> Labelled:
        """Without the rows that weigh nothing, in the precision in which networks learn."""
        if self.weight is None:
            return self
        rows = np.nonzero(np.asarray(self.weight, np.float32) > 0)[0]
        if len(rows) == len(self):
            return self
        return self.take(rows)

    def take(self, rows: IntArray) -> Labelled:
        """Some of the rows, by number."""
        weight = None if self.weight is None else self.weight[rows]
        features, truth = self.features.take(rows), self.truth[rows]
        return Labelled(features, self.target, truth, weight, self.without_target, self.notes)

    def __len__(self) -> int:
        return len(self.truth)


def _notes(target: Target, column: Any, decimals: DecimalContext) -> tuple[str, ...]:
    """What to say of a target as it was written."""
    if isinstance(target, NumberTarget):
        return fit_number_format(target.name, column, decimals)[1]
    return label_note(target)
