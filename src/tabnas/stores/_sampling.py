"""A uniform sample of rows that can be merged: those of the smallest random keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.types import IntArray

SLACK = 1.25  # so many times the rows that are kept are held, at most


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of the smallest keys among all that were seen, `most` of them or all.

    A row's key depends on nothing but its number, so the sample of two sets of rows together is
    found in their samples, whatever the order.
    """

    most: int
    keys: NDArray[np.uint64]
    rows: IntArray  # their numbers
    values: Any  # an Arrow table of the same rows

    def merged(self, other: Sample) -> Sample:
        """The sample of both sets of rows."""
        return Sample(
            self.most,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.rows, other.rows]),
            pa.concat_tables([self.values, other.values]),
        ).cut()

    def cut(self) -> Sample:
        """Only the rows of the smallest keys, in the order of their numbers."""
        kept = np.lexsort((self.rows, self.keys))[: self.most]
        kept = kept[np.argsort(self.rows[kept])]
        values = self.values
        if values.num_columns:  # without any, a table has no rows, either
            values = values.take(pa.array(kept)).combine_chunks()
        return Sample(self.most, self.keys[kept], self.rows[kept], values)


class Sampler:
    """A sample that grows chunk by chunk; it is cut when it has more rows than it keeps."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._highest = np.uint64(2**64 - 1)  # a key above it has no chance
        self._parts: list[Sample] = []
        self._held = 0

    def wanted(self, keys: NDArray[np.uint64]) -> IntArray:
        """Which of some rows may be among the smallest: only these need be given to `add`."""
        return np.nonzero(keys <= self._highest)[0]

    def add(self, keys: NDArray[np.uint64], rows: IntArray, values: Any) -> None:
        """Rows with their keys and numbers."""
        self._parts.append(Sample(self._most, keys, rows, values))
        self._held += len(keys)
        if self._held > SLACK * self._most:
            self.sample()

    def sample(self) -> Sample:
        """The sample so far; some rows must have been added, be it none of them."""
        parts = self._parts
        whole = Sample(
            self._most,
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.rows for part in parts]),
            pa.concat_tables([part.values for part in parts]),
        ).cut()
        self._parts, self._held = [whole], len(whole.keys)
        if self._held == self._most:
            self._highest = whole.keys.max()
        return whole
