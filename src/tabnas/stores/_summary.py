"""Mergeable summaries of rows: all that the encoder is fitted on.

Summaries are a monoid: `merge` is associative, exactly while no counts are pruned, and the
summary of all rows does not depend on how they were cut into pieces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data import Kind, to_booleans, to_numbers, to_seconds, to_texts
from tabnas.data.lowlevel import DEFAULT_NUMBER_FORMAT, NumberFormat, factorize_texts
from tabnas.stores._sketches import Counter, Counts, Sample
from tabnas.stores._target_stats import LabelStats, TargetStats, merge_target_stats
from tabnas.types import BoolArray, FloatArray, IntArray

Extreme = float | str


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnSummary:
    """The missing values and extremes of a column's training rows, and the counts of categories."""

    missing: int
    low: Extreme | None = None  # None: no value yet, or there are counts
    high: Extreme | None = None
    counts: Counts | None = None

    def merge(self, other: ColumnSummary) -> ColumnSummary:
        """Return the summary of both sets of rows."""
        counts = self.counts
        if counts is not None and other.counts is not None:
            counts = counts.merge(other.counts)
        extremes = sorted(
            extreme
            for extreme in (self.low, other.low, self.high, other.high)
            if extreme is not None  # floats or texts, never both
        )
        return ColumnSummary(
            missing=self.missing + other.missing,
            low=extremes[0] if extremes else None,
            high=extremes[-1] if extremes else None,
            counts=counts,
        )

    def is_constant(self) -> bool:
        """Return whether all training rows are missing, or all are the same and none is missing."""
        if self.counts is not None:
            different = len(self.counts.table) if self.counts.is_exact else 2
        else:
            different = 0 if self.low is None else 1 + (self.low != self.high)
        return different == 0 or (different == 1 and not self.missing)


@dataclass(frozen=True, eq=False, kw_only=True)
class Summary:
    """The summary of some rows."""

    rows: int  # with a target or without
    parts: tuple[int, int, int]  # rows with a target, for training, validation and test
    columns: Mapping[str, ColumnSummary]
    target: LabelStats | TargetStats
    sample: Sample  # of training rows

    def merge(self, other: Summary) -> Summary:
        """Return the summary of both sets of rows."""
        train, validation, test = (a + b for a, b in zip(self.parts, other.parts, strict=True))
        return Summary(
            rows=self.rows + other.rows,
            parts=(train, validation, test),
            columns={name: c.merge(other.columns[name]) for name, c in self.columns.items()},
            target=merge_target_stats(self.target, other.target),
            sample=self.sample.merge(other.sample),
        )


# --- one column, chunk by chunk -------------------------------------------------------------------


class Accumulator(ABC):
    """The summary of a column so far."""

    sampled: pa.DataType | None = None
    """The type in which rows of the sample are stored; None if none are needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._missing = 0

    @abstractmethod
    def update(self, column: Any) -> Any:
        """Add training rows; return the values as the sample keeps them."""

    @abstractmethod
    def summary(self) -> ColumnSummary:
        """Return the summary of all rows."""


class NumberAccumulator(Accumulator):
    """Numbers and booleans: missing values and extremes."""

    def __init__(
        self, name: str, *, is_boolean: bool, number_format: NumberFormat = DEFAULT_NUMBER_FORMAT
    ) -> None:
        super().__init__(name)
        self._number_format = number_format
        self._is_boolean = is_boolean
        self.sampled = None if is_boolean else pa.float64()
        self._low, self._high = np.inf, -np.inf

    def update(self, column: Any) -> Any:
        if self._is_boolean:
            values = to_booleans(self.name, column)
        else:
            values = to_numbers(self.name, column, self._number_format)
        self._remember(values, np.isnan(values))
        return pa.array(values)

    def _remember(self, values: FloatArray, missing: BoolArray) -> None:
        n_missing = int(missing.sum())
        self._missing += n_missing
        present = values[~missing] if n_missing else values
        if len(present):
            self._low = min(self._low, float(present.min()))
            self._high = max(self._high, float(present.max()))

    def summary(self) -> ColumnSummary:
        if self._low > self._high:
            return ColumnSummary(missing=self._missing)
        return ColumnSummary(missing=self._missing, low=self._low, high=self._high)


class DatetimeAccumulator(NumberAccumulator):
    """Dates and times, in seconds."""

    def __init__(self, name: str) -> None:
        super().__init__(name, is_boolean=False)
        self.sampled = pa.timestamp("s")

    def update(self, column: Any) -> Any:
        values, missing = to_seconds(self.name, column)
        self._remember(values.astype(np.float64), missing)
        return pa.array(values, pa.int64(), mask=missing).cast(pa.timestamp("s"))


class TextAccumulator(Accumulator):
    """Texts that are hashed, so that only the smallest and the largest matter."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._low: str | None = None
        self._high: str | None = None

    def update(self, column: Any) -> Any:
        values, _, missing = count_texts(column)
        self._missing += missing
        extremes = pc.min_max(values).as_py()
        if extremes["min"] is not None:
            self._low = extremes["min"] if self._low is None else min(self._low, extremes["min"])
            self._high = extremes["max"] if self._high is None else max(self._high, extremes["max"])

    def summary(self) -> ColumnSummary:
        return ColumnSummary(missing=self._missing, low=self._low, high=self._high)


class CategoryAccumulator(Accumulator):
    """Texts that are counted, and also sampled if their kind is not known."""

    def __init__(self, name: str, *, capacity: int, undecided: bool) -> None:
        super().__init__(name)
        self._counter = Counter(capacity)
        self.sampled = pa.string() if undecided else None

    def update(self, column: Any) -> Any:
        values, counts, missing = count_texts(column)
        self._missing += missing
        self._counter.add(values, counts)
        return None if self.sampled is None else to_texts(column)

    def summary(self) -> ColumnSummary:
        return ColumnSummary(missing=self._missing, counts=self._counter.counts())


def count_texts(column: Any) -> tuple[Any, IntArray, int]:
    """Return different texts, some perhaps twice, their counts, and the number of missing ones."""
    values, rows = factorize_texts(column)
    counts = np.bincount(rows, minlength=len(values))
    here = values.is_valid()
    counts = counts[here.to_numpy(zero_copy_only=False)]
    return values.filter(here), counts, len(rows) - int(counts.sum())


def make_accumulator(
    name: str,
    kind: Kind | None,
    *,
    capacity: int,
    number_format: NumberFormat = DEFAULT_NUMBER_FORMAT,
) -> Accumulator:
    """Return the accumulator for a column of a kind; None if the kind is not known."""
    if kind is Kind.NUMERIC or kind is Kind.BOOLEAN:
        return NumberAccumulator(name, is_boolean=kind is Kind.BOOLEAN, number_format=number_format)
    if kind is Kind.DATETIME:
        return DatetimeAccumulator(name)
    if kind is Kind.HASHED:
        return TextAccumulator(name)
    return CategoryAccumulator(name, capacity=capacity, undecided=kind is None)
