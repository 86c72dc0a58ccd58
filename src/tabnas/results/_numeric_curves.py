"""The learned curves of numeric embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from tabnas.decoding import MaxLength
from tabnas.results._fields import Real

MAX_CURVES = 6
MAX_CURVE_KNOTS = 128
MAX_CURVE_DIMENSIONS = 4


@dataclass(frozen=True, kw_only=True)
class NumericCurve:
    """The embedding of a numeric feature, as it was learned: its outputs at every knot.

    Between two knots an output is interpolated, linearly in the encoded value.
    """

    column: str
    feature: str  # the name of the column, or what is derived from it, like "day week sine"
    unit: Literal["number", "time"]  # a time is in seconds since 1970
    knots: Annotated[tuple[Real, ...], MaxLength(MAX_CURVE_KNOTS)]  # in units of the column
    positions: tuple[Real, ...]  # the encoded values of the knots
    outputs: Annotated[tuple[tuple[Real, ...], ...], MaxLength(MAX_CURVE_DIMENSIONS)]  # [d, knots]

    def __post_init__(self) -> None:
        lengths = {len(self.knots), len(self.positions), *map(len, self.outputs)}
        if len(lengths) > 1 or len(self.knots) < 2:
            raise ValueError("knots, positions and each dimension must be as many, and at least 2")
        if not self.outputs:
            raise ValueError("outputs must have at least one dimension")
        if not all(low < high for low, high in pairwise(self.positions)):
            raise ValueError("positions must ascend")
