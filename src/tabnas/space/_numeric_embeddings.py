"""Numeric embeddings as a layer of the search space: the input layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tabnas.errors import TabNASError, check_int

DEFAULT_DIMENSIONS = (0, 1, 2, 4, 8)
"""Candidate dimensions of numeric embeddings."""
MAX_DIMENSION = 1_000
MAX_COLUMNS = 1_000_000
MAX_KNOTS = 10**9


@dataclass(frozen=True)
class NumericEmbeddings:
    """Tables that turn each of `columns` numeric columns into d numbers, d from `dimensions`.

    A column has knots, and a trained table with d numbers for each of them. A value reads its
    table between the two nearest knots, by linear interpolation. This is the piecewise-linear
    embedding of Gorishniy et al. (2022), "On Embeddings for Numerical Features in Tabular Deep
    Learning". The values themselves stay inputs, so dimension 0 is the network without embeddings.

    NOTE[DIFF]: the networks of TabNAS read numbers as they are. Those of Gorishniy et al. read
    only the embeddings, of a dimension that is the same for all tables.

    `knots` counts the knots of all columns: with dimension d, the tables hold `knots * d` numbers.

    >>> NumericEmbeddings(columns=2, knots=40).dimensions
    (0, 1, 2, 4, 8)
    """

    columns: int
    knots: int
    dimensions: tuple[int, ...]

    def __init__(
        self, *, columns: int, knots: int, dimensions: Iterable[int] = DEFAULT_DIMENSIONS
    ) -> None:
        columns = check_int("the embedded columns", columns, minimum=1)
        knots = check_int("the knots of all columns", knots, minimum=2 * columns)
        candidates = sorted(
            check_int("the dimension of numeric embeddings", dimension, minimum=0)
            for dimension in dimensions
        )
        for name, value, maximum in (
            ("the embedded columns", columns, MAX_COLUMNS),
            ("the knots of all columns", knots, MAX_KNOTS),
            ("the dimension of numeric embeddings", max(candidates, default=0), MAX_DIMENSION),
        ):
            if value > maximum:
                raise TabNASError(f"{name} must be at most {maximum:,}, got {value:,}")
        if not candidates or len(set(candidates)) < len(candidates):
            raise TabNASError(
                "numeric embeddings must have at least one candidate dimension, each listed once, "
                f"got {candidates}"
            )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "dimensions", tuple(candidates))
