"""What is learned of the target in one pass: its classes, or its mean and deviation."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data import ClassTarget, NumberTarget, numbers, texts, truths
from tabnas.data.reading import POINT, NumberFormat, RowError, is_text
from tabnas.errors import TabNASError
from tabnas.types import FloatArray

MOST_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class Labels:
    """The different labels of all rows, and of the training rows, as they are written."""

    found: Any  # arrays of Arrow
    trained: Any

    @classmethod
    def of(cls, column: Any, trained: Any) -> Labels:
        """The labels of a column and of its training rows."""
        return cls(_unique([column]), _unique([trained]))

    def merged(self, other: Labels) -> Labels:
        """Those of both sets of rows."""
        return Labels(_unique([self.found, other.found]), _unique([self.trained, other.trained]))

    def fit(self, name: str, form: NumberFormat = POINT) -> ClassTarget:
        """The target, as `ClassTarget.fit` finds it from all rows."""
        target = ClassTarget.fit(name, pa.chunked_array([self.found]))
        if len(np.unique(target.encode(pa.chunked_array([self.trained])))) < 2:
            raise TabNASError(
                f"the training rows must show at least two values of the target {name!r}, but "
                "they show one; give more rows"
            )
        return target

    def refuse_many(self, name: str) -> None:
        """More labels than any network could answer with must not fill the memory."""
        if len(self.found) > MOST_CLASSES:
            raise TabNASError(
                f"the target {name!r} must have at most {MOST_CLASSES:,} classes, but there "
                "are more; declare it a quantity (--task regression), or name another column"
            )


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations and extremes of the training rows' answers."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = inf
    high: float = -inf

    @classmethod
    def of(cls, values: FloatArray) -> Moments:
        """Those of some values."""
        if not len(values):
            return cls()
        with np.errstate(over="ignore", invalid="ignore"):  # `fit` refuses what is not finite
            mean = float(np.mean(values))
            squares = float(np.sum((values - mean) ** 2))
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def merged(self, other: Moments) -> Moments:
        """Those of both sets of rows, by the pairwise formulas of Chan, Golub and LeVeque."""
        count = self.count + other.count
        if not self.count or not other.count:
            return self if self.count else other
        apart = other.mean - self.mean
        return Moments(
            count,
            self.mean + apart * (other.count / count),
            self.squares + other.squares + apart * apart * (self.count / count) * other.count,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def fit(self, name: str, form: NumberFormat = POINT) -> NumberTarget:
        """The target; deviations that floats cannot hold are refused."""
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
        written = {"decimal": form.decimal, "unit": form.unit}
        return NumberTarget(name=name, center=self.mean, scale=scale, **written)


def merged_answers(one: Labels | Moments, other: Labels | Moments) -> Labels | Moments:
    """What both sets of rows tell, which are of one target."""
    if isinstance(one, Labels):
        assert isinstance(other, Labels)
        return one.merged(other)
    assert isinstance(other, Moments)
    return one.merged(other)


def typed_labels(
    name: str, column: Any, wanted: pa.DataType, form: NumberFormat = POINT
) -> pa.ChunkedArray:
    """Labels of the type that the first rows have; others than that are refused."""
    if column.type == wanted:
        return column
    if pa.types.is_boolean(wanted):
        truth = pa.array(truths(name, column), from_pandas=True)
        return pa.chunked_array([truth]).cast(wanted)
    if is_text(column) and pa.types.is_floating(wanted):
        values = pa.array(numbers(name, column, form), from_pandas=True)
        return pa.chunked_array([values]).cast(wanted)
    values = texts(column) if is_text(column) and wanted != pa.string() else column
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:
        row = next(i for i, value in enumerate(values) if not _casts(value, wanted))
        raise RowError(
            f"the target {name!r} must hold {wanted}, as its first rows do, but",
            row,
            f"is {values[row].as_py()!r}; replace it, or leave the row out",
        ) from None


def _casts(value: Any, wanted: pa.DataType) -> bool:
    try:
        value.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def _unique(columns: list[Any]) -> Any:
    chunks = [c for column in columns for c in getattr(column, "chunks", [column])]
    found = pc.unique(pa.chunked_array(chunks, columns[0].type))
    return found.drop_null()
