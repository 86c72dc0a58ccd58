"""Mergeable statistics of the target: its classes, or its mean and deviation."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data import ClassTarget, NumberTarget, to_booleans, to_numbers, to_texts
from tabnas.data.lowlevel import (
    DEFAULT_NUMBER_FORMAT,
    MAX_INTEGER_CLASSES,
    NumberFormat,
    RowError,
    are_number_like,
    is_numeric_type,
    is_text,
)
from tabnas.errors import TabNASError
from tabnas.types import FloatArray

MAX_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class LabelStats:
    """The different labels of all rows and of the training rows."""

    all_labels: Any  # an array of Arrow
    train_labels: Any  # an array of Arrow

    @classmethod
    def from_columns(cls, column: Any, train_column: Any) -> LabelStats:
        """Return the labels of a column and of its training rows."""
        return cls(_unique([column]), _unique([train_column]))

    def merge(self, other: LabelStats) -> LabelStats:
        """Return the labels of both sets of rows."""
        return LabelStats(
            _unique([self.all_labels, other.all_labels]),
            _unique([self.train_labels, other.train_labels]),
        )

    def fit(self, name: str, number_format: NumberFormat = DEFAULT_NUMBER_FORMAT) -> ClassTarget:
        """Fit the target, as `ClassTarget.fit` does on all rows."""
        target = ClassTarget.fit(name, pa.chunked_array([self.all_labels]))
        if len(np.unique(target.encode(pa.chunked_array([self.train_labels])))) < 2:
            raise TabNASError(
                f"the training rows must show at least two values of the target {name!r}, but "
                "they show one; give more rows"
            )
        return target

    def check_task(self, name: str) -> None:
        """Raise an error if the first rows have shown a few integers, but all rows show many."""
        labels = self.all_labels
        is_number = is_numeric_type(labels.type) or (
            pa.types.is_string(labels.type) and are_number_like(labels).all()
        )
        if is_number and len(labels) > MAX_INTEGER_CLASSES:
            raise TabNASError(
                f"the target {name!r} has at most {MAX_INTEGER_CLASSES} different integers in its "
                "first rows, but more later; say what it is with --task regression or --task "
                "classification (in Python: task)"
            )

    def check_count(self, name: str) -> None:
        """Raise an error if there are too many labels, which could fill the memory."""
        if len(self.all_labels) > MAX_CLASSES:
            raise TabNASError(
                f"the target {name!r} must have at most {MAX_CLASSES:,} classes, but there "
                "are more; declare it a quantity (--task regression), or name another column"
            )


@dataclass(frozen=True)
class TargetStats:
    """Count, mean, sum of squared deviations and extremes of a quantity in the training rows."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = inf
    high: float = -inf

    @classmethod
    def from_values(cls, values: FloatArray) -> TargetStats:
        """Return the statistics of some values."""
        if not len(values):
            return cls()
        with np.errstate(over="ignore", invalid="ignore"):  # `fit` refuses what is not finite
            mean = float(np.mean(values))
            squares = float(np.sum((values - mean) ** 2))
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def merge(self, other: TargetStats) -> TargetStats:
        """Return the statistics of both sets of rows (Chan, Golub and LeVeque, pairwise)."""
        count = self.count + other.count
        if not self.count or not other.count:
            return self if self.count else other
        delta = other.mean - self.mean
        return TargetStats(
            count,
            self.mean + delta * (other.count / count),
            self.squares + other.squares + delta * delta * (self.count / count) * other.count,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def fit(self, name: str, number_format: NumberFormat = DEFAULT_NUMBER_FORMAT) -> NumberTarget:
        """Fit the target; raise an error if floats cannot hold its deviation."""
        if self.low >= self.high:
            raise TabNASError(
                f"the target {name!r} must have at least two different values, but it has "
                f"{'one' if self.count else 'none'}; give other rows, or name another column"
            )
        scale = sqrt(self.squares / self.count) if isfinite(self.squares) else inf
        if not (isfinite(self.mean) and 0 < scale < inf):
            raise TabNASError(
                f"the target {name!r} must have a deviation that floats can hold, but it "
                f"ranges from {self.low:g} to {self.high:g}; give it in another unit"
            )
        written = {"decimal": number_format.decimal, "unit": number_format.unit}
        return NumberTarget(name=name, center=self.mean, scale=scale, **written)


def merge_target_stats(
    first: LabelStats | TargetStats, second: LabelStats | TargetStats
) -> LabelStats | TargetStats:
    """Return the statistics of both sets of rows, which have the same target."""
    if isinstance(first, LabelStats):
        assert isinstance(second, LabelStats)
        return first.merge(second)
    assert isinstance(second, TargetStats)
    return first.merge(second)


def cast_labels(
    name: str, column: Any, wanted: pa.DataType, number_format: NumberFormat = DEFAULT_NUMBER_FORMAT
) -> pa.ChunkedArray:
    """Cast labels to the type of the first rows; raise an error if one does not fit."""
    if column.type == wanted:
        return column
    if pa.types.is_boolean(wanted):
        truth = pa.array(to_booleans(name, column), from_pandas=True)
        return pa.chunked_array([truth]).cast(wanted)
    if is_text(column) and pa.types.is_floating(wanted):
        values = pa.array(to_numbers(name, column, number_format), from_pandas=True)
        return pa.chunked_array([values]).cast(wanted)
    values = to_texts(column) if is_text(column) and wanted != pa.string() else column
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:
        row = next(i for i, value in enumerate(values) if not _can_cast(value, wanted))
        raise RowError(
            f"the target {name!r} must hold {wanted}, as its first rows do, but",
            row,
            f"is {values[row].as_py()!r}; replace it, leave the row out, or declare a quantity "
            "with --task regression",
        ) from None


def _can_cast(value: Any, wanted: pa.DataType) -> bool:
    try:
        value.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def _unique(columns: list[Any]) -> Any:
    chunks = [c for column in columns for c in getattr(column, "chunks", [column])]
    return pc.unique(pa.chunked_array(chunks, columns[0].type)).drop_null()
