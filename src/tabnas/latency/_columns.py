"""The latency of preprocessing a table's columns by their kinds, for models on other machines.

On this machine it is measured on rows of the table, which is more accurate. For another device only
its latency table is available, which contains these terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from tabnas.data import TableEncoder
from tabnas.latency._terms import Microseconds, fit_nonnegative
from tabnas.types import FloatArray

NUMERIC_KINDS = ("numeric", "boolean")
CATEGORICAL_KINDS = ("categorical", "hashed")
DATETIME_KINDS = ("datetime",)


@dataclass(frozen=True, kw_only=True)
class ColumnTerms:
    """The microseconds that a table's columns add to a call.

    Columns of a kind are computed together: one term is added once if there are such columns, and
    one for each of them. Categorical columns are computed one after the other, so they have no
    common term.
    """

    answer_us: Microseconds  # labels and probabilities from the network's outputs
    numeric_once_us: Microseconds  # once, if there are numeric or boolean columns
    numeric_each_us: Microseconds  # for each numeric or boolean column
    category_each_us: Microseconds  # for each categorical or hashed column, with its embedding
    datetime_once_us: Microseconds  # once, if there are datetime columns
    datetime_each_us: Microseconds  # for each datetime column

    def predict_us(self, encoder: TableEncoder) -> float:
        """Return the microseconds that the columns of this encoder add."""
        kinds = [str(column.kind) for column in encoder.columns]
        numeric, categorical, datetime = (
            sum(kinds.count(kind) for kind in group)
            for group in (NUMERIC_KINDS, CATEGORICAL_KINDS, DATETIME_KINDS)
        )
        return (
            self.answer_us
            + self.numeric_once_us * bool(numeric)
            + self.numeric_each_us * numeric
            + self.category_each_us * categorical
            + self.datetime_once_us * bool(datetime)
            + self.datetime_each_us * datetime
        )


COLUMN_TERMS = tuple(field.name for field in fields(ColumnTerms))


def fit_column_terms(
    encoders: Sequence[TableEncoder], added_us: FloatArray, total_us: FloatArray
) -> ColumnTerms:
    """Fit non-negative terms to what columns add, relative to the latency of the entire call."""
    # the latency if one term were 1 and the others 0
    unit_terms = [ColumnTerms(**{n: float(n == u) for n in COLUMN_TERMS}) for u in COLUMN_TERMS]
    counts = np.array([[terms.predict_us(encoder) for terms in unit_terms] for encoder in encoders])
    fitted = fit_nonnegative(counts, added_us, total_us)
    return ColumnTerms(**dict(zip(COLUMN_TERMS, fitted, strict=True)))
