"""Mergeable sketches of rows in bounded memory: counts of texts, and a uniform sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabnas.types import IntArray

SCHEMA = pa.schema([("value", pa.string()), ("count", pa.int64())])
ENTRY = 16  # bytes of an entry beside its text
PENDING = 1 / 4  # of the capacity may be entries that wait to be added up


@dataclass(frozen=True, eq=False)
class Counts:
    """Texts and how often they occur, by lossy counting.

    A text has occurred `count` times at least and `count + bound` times at most; one that is not
    here, `bound` times at most. While the bound is 0, all is exact.
    """

    capacity: int  # bytes
    table: Any  # of Arrow, as SCHEMA says
    bound: int = 0

    def merge(self, other: Counts) -> Counts:
        """Return the counts of both sets of rows; exact if both are and nothing is dropped."""
        together = pa.concat_tables([self.table, other.table])
        return Counts(self.capacity, sum_counts(together), self.bound + other.bound).prune()

    def prune(self) -> Counts:
        """Drop the rarest texts if the capacity is exceeded, until half of it is filled."""
        if _bytes(self.table) <= self.capacity:
            return self
        ordered = self.table.sort_by([("count", "descending"), ("value", "ascending")])
        lengths = pc.binary_length(ordered.column("value")).to_numpy()
        filled = np.cumsum(lengths.astype(np.int64) + ENTRY)
        selected = max(1, int(np.searchsorted(filled, self.capacity // 2, side="right")))
        lost = ordered.column("count")[selected].as_py() if selected < len(ordered) else 0
        return Counts(self.capacity, ordered.slice(0, selected).combine_chunks(), self.bound + lost)

    @property
    def is_exact(self) -> bool:
        """Whether nothing was ever dropped."""
        return self.bound == 0


class Counter:
    """Counts texts chunk by chunk."""

    def __init__(self, capacity: int) -> None:
        self._counts = Counts(capacity, SCHEMA.empty_table())
        self._pending: list[Any] = []
        self._waiting = 0  # bytes

    def add(self, values: Any, counts: IntArray) -> None:
        """Add texts, some perhaps twice, and how often each occurs."""
        table = pa.table([values, counts], schema=SCHEMA)
        self._pending.append(table)
        self._waiting += _bytes(table)
        if self._waiting > PENDING * self._counts.capacity:
            self.counts()

    def counts(self) -> Counts:
        """Return the counts so far."""
        if self._pending:
            before = self._counts
            table = sum_counts(pa.concat_tables([before.table, *self._pending]))
            self._counts = Counts(before.capacity, table, before.bound).prune()
            self._pending, self._waiting = [], 0
        return self._counts


def sum_counts(table: Any) -> Any:
    """Return one entry per text."""
    added = table.group_by("value").aggregate([("count", "sum")])
    return (
        added.rename_columns([name.removesuffix("_sum") for name in added.column_names])
        .select(SCHEMA.names)
        .cast(SCHEMA)
    )


def _bytes(table: Any) -> int:
    texts = pc.sum(pc.binary_length(table.column("value"))).as_py() or 0
    return int(texts) + ENTRY * len(table)


# --- a uniform sample ----------------------------------------------------------------------------

SLACK = 1.25  # at most this many times the rows of the sample are held


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows with the smallest keys among all that were seen, at most `max_rows`.

    A row's key depends on nothing but its number, so the sample of two sets of rows together is
    found in their samples, whatever the order.
    """

    max_rows: int
    keys: NDArray[np.uint64]
    rows: IntArray  # their numbers
    values: Any  # an Arrow table of the same rows

    def merge(self, other: Sample) -> Sample:
        """Return the sample of both sets of rows."""
        return Sample(
            self.max_rows,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.rows, other.rows]),
            pa.concat_tables([self.values, other.values]),
        ).truncate()

    def truncate(self) -> Sample:
        """Return only the rows with the smallest keys, in the order of their numbers."""
        selected = np.lexsort((self.rows, self.keys))[: self.max_rows]
        selected = selected[np.argsort(self.rows[selected])]
        values = self.values
        if values.num_columns:  # without any, a table has no rows, either
            values = values.take(pa.array(selected)).combine_chunks()
        return Sample(self.max_rows, self.keys[selected], self.rows[selected], values)


class Sampler:
    """Samples rows chunk by chunk."""

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._highest = np.uint64(2**64 - 1)  # a key above it has no chance
        self._samples: list[Sample] = []
        self._held = 0

    def select(self, keys: NDArray[np.uint64]) -> IntArray:
        """Return which rows may be among the smallest: only these need be passed to `add`."""
        return np.nonzero(keys <= self._highest)[0]

    def add(self, keys: NDArray[np.uint64], rows: IntArray, values: Any) -> None:
        """Add rows with their keys and numbers."""
        self._samples.append(Sample(self._max_rows, keys, rows, values))
        self._held += len(keys)
        if self._held > SLACK * self._max_rows:
            self.sample()

    def sample(self) -> Sample:
        """Return the sample so far; `add` must have been called, perhaps with no rows."""
        samples = self._samples
        merged = Sample(
            self._max_rows,
            np.concatenate([sample.keys for sample in samples]),
            np.concatenate([sample.rows for sample in samples]),
            pa.concat_tables([sample.values for sample in samples]),
        ).truncate()
        self._samples, self._held = [merged], len(merged.keys)
        if self._held == self._max_rows:
            self._highest = merged.keys.max()
        return merged
