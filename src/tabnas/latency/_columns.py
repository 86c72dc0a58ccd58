"""What a file takes to read a table's columns, by their kinds: for machines that are elsewhere.

On the machine itself it is measured on the table's own rows, which is better. A table of
latencies that comes from a device has only these terms to tell it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from tabnas.data import TableEncoder
from tabnas.latency._terms import nonnegative_fit
from tabnas.types import FloatArray

QUANTITIES = ("numeric", "boolean")
CATEGORIES = ("categorical",)
MOMENTS = ("datetime",)


@dataclass(frozen=True, kw_only=True)
class ColumnTerms:
    """Microseconds that a table's columns add to a call of so many rows.

    Columns of a kind are computed side by side: there is a term for the kind and one for each
    column. Categories are looked up one column after the other.
    """

    answer_us: float  # labels and probabilities from the network's outputs
    quantities_us: float  # if there are numbers or truth values
    quantity_us: float  # for each such column
    category_us: float  # for each categorical column, the embedding included
    moments_us: float  # if there are dates
    moment_us: float  # for each column of dates

    def predicted_us(self, encoder: TableEncoder) -> float:
        """What the columns of this encoder add."""
        kinds = [str(column.kind) for column in encoder.columns]
        quantities, categories, moments = (
            sum(kinds.count(kind) for kind in group) for group in (QUANTITIES, CATEGORIES, MOMENTS)
        )
        return (
            self.answer_us
            + self.quantities_us * bool(quantities)
            + self.quantity_us * quantities
            + self.category_us * categories
            + self.moments_us * bool(moments)
            + self.moment_us * moments
        )


COLUMN_TERMS = tuple(each.name for each in fields(ColumnTerms))


def fit_column_terms(
    encoders: Sequence[TableEncoder], added_us: FloatArray, whole_us: FloatArray
) -> ColumnTerms:
    """The terms, none below 0, that best explain what columns add, in parts of the whole call."""
    alone = [ColumnTerms(**{n: float(n == one) for n in COLUMN_TERMS}) for one in COLUMN_TERMS]
    counts = np.array([[terms.predicted_us(encoder) for terms in alone] for encoder in encoders])
    found = nonnegative_fit(counts, added_us, whole_us)
    return ColumnTerms(**dict(zip(COLUMN_TERMS, found, strict=True)))
