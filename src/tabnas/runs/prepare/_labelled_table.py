"""A table with its target column split off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import (
    NumberTarget,
    Table,
    Target,
    find_labelled_rows,
    fit_target,
    to_group_ids,
)
from tabnas.data.lowlevel import (
    DecimalContext,
    RowError,
    describe_labels,
    fit_number_format,
    is_text,
    renumber_rows,
    set_decimal_mark,
)
from tabnas.errors import TabNASError
from tabnas.types import FloatArray, IntArray

PLACE = "in the rows without a target"
"""How errors about them begin."""


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
    numbers_without_target: IntArray = field(default=None, kw_only=True)  # type: ignore[arg-type]
    """The same of the rows `without_target`; by default, they follow the others."""
    groups: IntArray | None = field(default=None, kw_only=True)
    """[rows], the group of each row, if they were given besides the table: see `with_groups`."""

    def __post_init__(self) -> None:
        if self.row_numbers is None:
            object.__setattr__(self, "row_numbers", np.arange(len(self.y)))
        if self.numbers_without_target is None:
            count = 0 if self.without_target is None else len(self.without_target)
            numbers = np.arange(len(self.y), len(self.y) + count)
            object.__setattr__(self, "numbers_without_target", numbers)

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
        without_target, missing = None, np.arange(0)
        if len(present) < len(table):
            missing = np.delete(np.arange(len(table)), present)
            without_target = table.take(missing).drop([name])
            column, table = column.take(present), table.take(present)
        notes: tuple[str, ...] = ()
        mark = decimals.mark if fitted is not None and is_text(column) else None
        with renumber_rows(present):
            if isinstance(target, str):
                target = fit_target(name, column, task=task, decimals=decimals)
                notes = _notes(target, column, decimals)
            y = target.encode(column, mark)
        return cls(
            table.drop([name]),
            target,
            y,
            without_target=without_target,
            notes=notes,
            row_numbers=present,
            numbers_without_target=missing,
        )

    def with_groups(self, groups: Any) -> LabelledTable:
        """Return the same with a group for each row, for runs with the setting `split="group"`.

        Groups are texts, numbers or others, in an array or a column with a value for each row that
        has a target. They are no feature; rows of a group are never in two parts of a split.
        """
        name = "groups"
        column = Table.from_data({name: groups}).column(name)
        if len(column) != len(self):
            raise TabNASError(
                f"groups must have a label for each of the {len(self):,} rows, got {len(column):,}"
            )
        try:
            return replace(self, groups=to_group_ids(name, column))
        except RowError as error:
            before = "groups must have a label for each row, but that of"
            raise RowError(before, error.row, error.after) from None

    def with_unlabelled(self, table: Table) -> LabelledTable:
        """Return the same with rows of another table; its target column, if any, is ignored."""
        if not len(table):
            raise TabNASError("the table of rows without a target must have rows, but it has none")
        name = self.target.name
        if not table.has_names or name not in table or name in self.features:
            return replace(self, unlabelled=table)
        note = f"the column {name!r} of the rows without a target was ignored"
        return replace(self, unlabelled=table.drop([name]), notes=(*self.notes, note))

    def set_decimal_mark(self, decimal: str | None) -> LabelledTable:
        """Return the same with the decimal mark that the user has given, if any."""
        own, other = self.without_target, self.unlabelled
        return replace(
            self,
            features=set_decimal_mark(self.features, decimal),
            without_target=None if own is None else set_decimal_mark(own, decimal),
            unlabelled=None if other is None else set_decimal_mark(other, decimal),
        )

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
            groups=None if self.groups is None else self.groups[rows],
        )

    def __len__(self) -> int:
        return len(self.y)


@contextmanager
def name_rows(place: str) -> Iterator[None]:
    """Let errors say which rows they are about: "in the validation rows"."""
    try:
        yield
    except RowError as error:
        raise RowError(f"{place}, {error.before}", error.row, error.after) from None
    except TabNASError as error:
        raise TabNASError(f"{place}, {error}") from None


def name_unlabelled() -> AbstractContextManager[None]:
    """Let errors say that they are about rows without a target."""
    return name_rows(PLACE)


def _notes(target: Target, column: Any, decimals: DecimalContext) -> tuple[str, ...]:
    """Return notes on how the target was written in the table."""
    if isinstance(target, NumberTarget):
        return fit_number_format(target.name, column, decimals)[1]
    return describe_labels(target)
