"""The learned curves of numeric embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tabnas.decoding import MaxLength
from tabnas.results._fields import Real

MAX_CURVES = 6
"""Features whose curves a result holds: the most important ones."""
MAX_CURVE_KNOTS = 128
"""Knots of a curve; of more, evenly spaced ones are taken."""
MAX_CURVE_DIMENSIONS = 4
"""Dimensions of a curve: the first ones."""


@dataclass(frozen=True, kw_only=True)
class NumericCurve:
    """The embedding of a numeric feature, as it was learned: its outputs at every knot.

    Between two knots the outputs are interpolated.
    """

    column: str
    feature: str  # the name of the column, or what is derived from it, like "day week sine"
    unit: Literal["number", "time"]  # a time is in seconds since 1970
    knots: Annotated[tuple[Real, ...], MaxLength(MAX_CURVE_KNOTS)]  # in units of the column
    outputs: Annotated[tuple[tuple[Real, ...], ...], MaxLength(MAX_CURVE_DIMENSIONS)]  # [d, knots]

    def __post_init__(self) -> None:
        if len(self.knots) < 2:
            raise ValueError(f"knots must be at least 2, got {len(self.knots)}")
        if not self.outputs or any(len(row) != len(self.knots) for row in self.outputs):
            raise ValueError(
                f"outputs must be at least one dimension of {len(self.knots)} numbers, one for "
                "each knot"
            )
