"""A table with its target column split off."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import NumberTarget, Table, Target, find_labelled_rows, fit_target
from tabnas.data.lowlevel import DecimalContext, describe_labels, fit_number_format, is_text
from tabnas.errors import TabNASError
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """The features of a table, and the target values of its rows."""

    features: Table
    target: Target
    y: NDArray[Any]  # [rows]: class indices, or values in the units of the target
    weight: FloatArray | None = None  # [rows], sample weights
    without_target: Table | None = None  # the features of rows of the table without a target
    unlabelled: Table | None = None  # rows of another table, whose target is not known
    notes: tuple[str, ...] = ()  # for the user, on the target
    row_numbers: IntArray = field(default=None, kw_only=True)  # type: ignore[arg-type]
    """[rows], the number of each row in the table of the user, where others may lack a target or
    weight; by default from 0."""

    def __post_init__(self) -> None:
        if self.row_numbers is None:
            object.__setattr__(self, "row_numbers", np.arange(len(self.y)))

    @classmethod
    def from_table(cls, table: Table, target: str | Target, *, task: Any = None) -> LabelledTable:
        """Split the target column off, and set rows without a target aside.

        If `target` is fitted already, the labels of the table must be among its classes.
        """
        name = target if isinstance(target, str) else target.name
        column = table.column(name)
        fitted = None if isinstance(target, str) else target
        decimals = table.decimals_for(column)
        present = find_labelled_rows(column, fitted)
        without_target = None
        if len(present) < len(table):
            missing = np.setdiff1d(np.arange(len(table)), present, assume_unique=True)
            without_target = table.take(missing).drop([name])
            column, table = column.take(present), table.take(present)
        if isinstance(target, str):
            target = fit_target(name, column, task=task, decimals=decimals)
            notes = _notes(target, column, decimals)
        else:
            notes = ()
        mark = decimals.mark if fitted is not None and is_text(column) else None
        y = target.encode(column, mark)
        return cls(
            table.drop([name]),
            target,
            y,
            without_target=without_target,
            notes=notes,
            row_numbers=present,
        )

    def with_unlabelled(self, table: Table) -> LabelledTable:
        """Return the same with rows of another table; its target column, if any, is ignored."""
        if not len(table):
            raise TabNASError("the table of rows without a target must have rows, but it has none")
        name = self.target.name
        if not table.named or name not in table or name in self.features:
            return replace(self, unlabelled=table)
        note = f"the column {name!r} of the rows without a target was ignored"
        return replace(self, unlabelled=table.drop([name]), notes=(*self.notes, note))

    def drop_zero_weights(self) -> LabelledTable:
        """Return the rows whose weight is not zero in float32, the precision of training."""
        if self.weight is None:
            return self
        rows = np.nonzero(np.asarray(self.weight, np.float32) > 0)[0]
        if len(rows) == len(self):
            return self
        return self.take(rows)

    def take(self, rows: IntArray) -> LabelledTable:
        """Return some of the rows, by index."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self,
            features=self.features.take(rows),
            y=self.y[rows],
            weight=weight,
            row_numbers=self.row_numbers[rows],
        )

    def __len__(self) -> int:
        return len(self.y)


def _notes(target: Target, column: Any, decimals: DecimalContext) -> tuple[str, ...]:
    """Return notes on how the target was written in the table."""
    if isinstance(target, NumberTarget):
        return fit_number_format(target.name, column, decimals)[1]
    return describe_labels(target)
