"""How often each text occurs, in bounded memory, with a bound on what is lost by that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.types import IntArray

SCHEMA = pa.schema([("value", pa.string()), ("count", pa.int64())])
ENTRY = 16  # bytes of an entry beside its text
PENDING = 1 / 4  # of the capacity may be entries that wait to be added up


@dataclass(frozen=True, eq=False)
class Counts:
    """Texts and how often they occur, as lossy counting has it.

    A text has occurred `count` times at least and `count + bound` times at most; one that is not
    here, `bound` times at most. While the bound is 0, all is exact.
    """

    capacity: int  # bytes
    table: Any  # of Arrow, as SCHEMA says
    bound: int = 0

    def merged(self, other: Counts) -> Counts:
        """The counts of both sets of rows; exact if both are and nothing has to go."""
        together = pa.concat_tables([self.table, other.table])
        return Counts(self.capacity, summed(together), self.bound + other.bound).pruned()

    def pruned(self) -> Counts:
        """Within the capacity: if it is exceeded, the most frequent texts that fill half of it."""
        if _bytes(self.table) <= self.capacity:
            return self
        ordered = self.table.sort_by([("count", "descending"), ("value", "ascending")])
        lengths = pc.binary_length(ordered.column("value")).to_numpy()
        filled = np.cumsum(lengths.astype(np.int64) + ENTRY)
        kept = max(1, int(np.searchsorted(filled, self.capacity // 2, side="right")))
        lost = ordered.column("count")[kept].as_py() if kept < len(ordered) else 0
        return Counts(self.capacity, ordered.slice(0, kept).combine_chunks(), self.bound + lost)

    @property
    def exact(self) -> bool:
        """Whether nothing was ever lost."""
        return self.bound == 0


class Counter:
    """Counts that grow chunk by chunk."""

    def __init__(self, capacity: int) -> None:
        self._counts = Counts(capacity, SCHEMA.empty_table())
        self._pending: list[Any] = []
        self._waiting = 0  # bytes

    def add(self, values: Any, counts: IntArray) -> None:
        """Texts, some perhaps twice, and how often each occurs."""
        table = pa.table([values, counts], schema=SCHEMA)
        self._pending.append(table)
        self._waiting += _bytes(table)
        if self._waiting > PENDING * self._counts.capacity:
            self.counts()

    def counts(self) -> Counts:
        """The counts so far."""
        if self._pending:
            before = self._counts
            table = summed(pa.concat_tables([before.table, *self._pending]))
            self._counts = Counts(before.capacity, table, before.bound).pruned()
            self._pending, self._waiting = [], 0
        return self._counts


def summed(table: Any) -> Any:
    """One entry a text."""
    added = table.group_by("value").aggregate([("count", "sum")])
    return (
        added.rename_columns([name.removesuffix("_sum") for name in added.column_names])
        .select(SCHEMA.names)
        .cast(SCHEMA)
    )


def _bytes(table: Any) -> int:
    texts = pc.sum(pc.binary_length(table.column("value"))).as_py() or 0
    return int(texts) + ENTRY * len(table)
