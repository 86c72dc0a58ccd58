"""What one pass over some rows learns, so that what two passes learn can be put together.

Summaries are a monoid: `merged` is associative, exactly while no counts are pruned, and the
summary of all rows does not depend on how they were cut into pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tabnas.stores._answers import Labels, Moments, merged_answers
from tabnas.stores._counting import Counts
from tabnas.stores._sampling import Sample

Extreme = float | str


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnSummary:
    """What is known exactly of a column's training rows, and its counts if it has categories."""

    missing: int
    low: Extreme | None = None  # None: no value yet, or there are counts
    high: Extreme | None = None
    counts: Counts | None = None

    def merged(self, other: ColumnSummary) -> ColumnSummary:
        """That of both sets of rows."""
        counts = self.counts
        if counts is not None and other.counts is not None:
            counts = counts.merged(other.counts)
        extremes = sorted(
            one
            for one in (self.low, other.low, self.high, other.high)
            if one is not None  # floats or texts, never both
        )
        return ColumnSummary(
            missing=self.missing + other.missing,
            low=extremes[0] if extremes else None,
            high=extremes[-1] if extremes else None,
            counts=counts,
        )

    def is_constant(self) -> bool:
        """Whether all training rows are missing, or all are the same and none is missing."""
        if self.counts is not None:
            different = len(self.counts.table) if self.counts.exact else 2
        else:
            different = 0 if self.low is None else 1 + (self.low != self.high)
        return different == 0 or (different == 1 and not self.missing)


@dataclass(frozen=True, eq=False, kw_only=True)
class Summary:
    """All that the second pass needs to know of some rows."""

    rows: int  # with a target or without
    parts: tuple[int, int, int]  # rows with a target, for training, validation and test
    columns: Mapping[str, ColumnSummary]
    answers: Labels | Moments
    sample: Sample  # of training rows

    def merged(self, other: Summary) -> Summary:
        """That of both sets of rows."""
        train, validation, test = (a + b for a, b in zip(self.parts, other.parts, strict=True))
        return Summary(
            rows=self.rows + other.rows,
            parts=(train, validation, test),
            columns={name: one.merged(other.columns[name]) for name, one in self.columns.items()},
            answers=merged_answers(self.answers, other.answers),
            sample=self.sample.merged(other.sample),
        )
