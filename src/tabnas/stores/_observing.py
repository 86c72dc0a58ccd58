"""One column's training rows, chunk by chunk, to what is remembered of them; one class a kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data import Kind, numbers, seconds, texts, truths
from tabnas.data.reading import POINT, NumberFormat, coded_texts
from tabnas.stores._counting import Counter
from tabnas.stores._summary import ColumnSummary
from tabnas.types import BoolArray, FloatArray, IntArray


class Observer(ABC):
    """What is remembered of a column so far."""

    sampled: pa.DataType | None = None
    """The type in which rows of the sample are kept; None if none are needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._missing = 0

    @abstractmethod
    def observe(self, column: Any) -> Any:
        """Learn from some training rows; values as the sample keeps them."""

    @abstractmethod
    def summary(self) -> ColumnSummary:
        """All that was learned."""


class QuantityObserver(Observer):
    """Numbers and truth values: what is missing, and the extremes."""

    def __init__(self, name: str, *, truth: bool, form: NumberFormat = POINT) -> None:
        super().__init__(name)
        self._form = form
        self._truth = truth
        self.sampled = None if truth else pa.float64()
        self._low, self._high = np.inf, -np.inf

    def observe(self, column: Any) -> Any:
        if self._truth:
            values = truths(self.name, column)
        else:
            values = numbers(self.name, column, self._form)
        self._remember(values, np.isnan(values))
        return pa.array(values)

    def _remember(self, values: FloatArray, missing: BoolArray) -> None:
        gone = int(missing.sum())
        self._missing += gone
        present = values[~missing] if gone else values
        if len(present):
            self._low = min(self._low, float(present.min()))
            self._high = max(self._high, float(present.max()))

    def summary(self) -> ColumnSummary:
        if self._low > self._high:
            return ColumnSummary(missing=self._missing)
        return ColumnSummary(missing=self._missing, low=self._low, high=self._high)


class MomentObserver(QuantityObserver):
    """Dates and times, in seconds."""

    def __init__(self, name: str) -> None:
        super().__init__(name, truth=False)
        self.sampled = pa.timestamp("s")

    def observe(self, column: Any) -> Any:
        values, missing = seconds(self.name, column)
        self._remember(values.astype(np.float64), missing)
        return pa.array(values, pa.int64(), mask=missing).cast(pa.timestamp("s"))


class TextObserver(Observer):
    """Texts whose buckets need no counting: the first and the last of the alphabet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._low: str | None = None
        self._high: str | None = None

    def observe(self, column: Any) -> Any:
        values, _, missing = counted_texts(column)
        self._missing += missing
        found = pc.min_max(values).as_py()
        if found["min"] is not None:
            self._low = found["min"] if self._low is None else min(self._low, found["min"])
            self._high = found["max"] if self._high is None else max(self._high, found["max"])

    def summary(self) -> ColumnSummary:
        return ColumnSummary(missing=self._missing, low=self._low, high=self._high)


class CategoryObserver(Observer):
    """Texts that are counted; of those whose kind is open some are sampled, too."""

    def __init__(self, name: str, *, capacity: int, undecided: bool) -> None:
        super().__init__(name)
        self._counter = Counter(capacity)
        self.sampled = pa.string() if undecided else None

    def observe(self, column: Any) -> Any:
        values, counts, missing = counted_texts(column)
        self._missing += missing
        self._counter.add(values, counts)
        return None if self.sampled is None else texts(column)

    def summary(self) -> ColumnSummary:
        return ColumnSummary(missing=self._missing, counts=self._counter.counts())


def counted_texts(column: Any) -> tuple[Any, IntArray, int]:
    """Different texts, some perhaps twice, how often each occurs, and how many are missing."""
    values, rows = coded_texts(column)
    counts = np.bincount(rows, minlength=len(values))
    here = values.is_valid()
    kept = counts[here.to_numpy(zero_copy_only=False)]
    return values.filter(here), kept, len(rows) - int(kept.sum())


def observer_of(
    name: str, kind: Kind | None, *, capacity: int, form: NumberFormat = POINT
) -> Observer:
    """The observer for a column of a kind; None: of which too little is known."""
    if kind is Kind.NUMERIC or kind is Kind.BOOLEAN:
        return QuantityObserver(name, truth=kind is Kind.BOOLEAN, form=form)
    if kind is Kind.DATETIME:
        return MomentObserver(name)
    if kind is Kind.HASHED:
        return TextObserver(name)
    return CategoryObserver(name, capacity=capacity, undecided=kind is None)
