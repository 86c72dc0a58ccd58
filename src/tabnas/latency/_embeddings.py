"""The latency of numeric embeddings, by columns, knots and dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from tabnas.latency._terms import Microseconds, NetworkShape, fit_nonnegative
from tabnas.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class EmbeddingTerms:
    """The microseconds that numeric embeddings add to a call.

    The added inputs of the first layer are weights of that layer, which `LatencyTerms` count.
    """

    embeddings_us: Microseconds  # once, if numbers are embedded
    column_us: Microseconds  # for each embedded column
    knot_us: Microseconds  # for each knot: the position of a value among the knots
    input_us: Microseconds  # for each input that is added, one for each column and dimension
    entry_us: Microseconds  # for each number of the embedding tables, knots times dimension

    def predict_us(self, columns: int, knots: int, dimension: int) -> float:
        """Return the latency of embeddings of `columns` columns with `knots` knots in all.

        An ONNX file has as many knots for each column as the column with most of them.
        """
        if dimension == 0:
            return 0.0
        return (
            self.embeddings_us
            + self.column_us * columns
            + self.knot_us * knots
            + self.input_us * columns * dimension
            + self.entry_us * knots * dimension
        )


EMBEDDING_TERMS = tuple(field.name for field in fields(EmbeddingTerms))


def fit_embedding_terms(
    shapes: Sequence[NetworkShape], added_us: FloatArray, total_us: FloatArray
) -> EmbeddingTerms:
    """Fit non-negative terms to what embeddings add, relative to the latency of the entire call."""
    # the latency if one term were 1 and the others 0
    unit_terms = [
        EmbeddingTerms(**{n: float(n == u) for n in EMBEDDING_TERMS}) for u in EMBEDDING_TERMS
    ]
    counts = np.array(
        [
            [terms.predict_us(s.columns, s.knots, s.architecture.dimension) for terms in unit_terms]
            for s in shapes
        ]
    )
    fitted = fit_nonnegative(counts, added_us, total_us)
    return EmbeddingTerms(**dict(zip(EMBEDDING_TERMS, fitted, strict=True)))
