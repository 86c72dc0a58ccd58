"""Numeric columns: imputed, marked where missing, and scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from tabnas.data._kinds import Kind
from tabnas.data._number_text import DEFAULT_NUMBER_FORMAT, NumberFormat
from tabnas.data._values import to_numbers
from tabnas.data.columns._column import (
    DecimalMark,
    FittedColumn,
    Text,
)
from tabnas.decoding import FiniteFloat, PositiveFloat
from tabnas.errors import TabNASError, did_you_mean
from tabnas.types import Float32Array, FloatArray, Int32Array, Scaling

NORMAL_QUARTILES = 1.349  # the distance between a normal variable's quartiles, in deviations
SMOOTH_LIMIT = 4.0  # robustly scaled values approach it and never pass it
MAX_SMOOTH_SHARE = 1 - 2.0**-25  # of the limit; nearer to it, a float32 is the limit itself
USUAL_SHARE, MAX_DEVIATION_RATIO = 0.9, 30.0
"""If half of the values are equal, the deviation is the scale, unless it is more than
`MAX_DEVIATION_RATIO` times the distance from the median that `USUAL_SHARE` of the others keep."""
FAR = 1e9  # beyond it a scaled value is at the limit anyway, and its square could overflow


@dataclass(frozen=True, kw_only=True)
class NumericColumn(FittedColumn):
    """`(x - center) / scale`, then, if robust, smoothly clipped; missing values take `fill`.

    Robust scaling centres on the median and divides by the distance between the quartiles, as a
    normal variable's deviation would be estimated from it, so that outliers move neither. What is
    still far out is bent towards +-4 by x / sqrt(1 + (x / 4)^2). On clean tables it does as well as
    standard scaling (results/scaling.md).
    """

    kind = Kind.NUMERIC
    center: FiniteFloat
    scale: PositiveFloat
    fill: FiniteFloat  # the median of the training rows
    scaling: Scaling
    marks_missing: bool  # whether the training rows had missing values
    decimal: DecimalMark = DEFAULT_NUMBER_FORMAT.decimal  # of numbers that come as texts
    unit: Text = DEFAULT_NUMBER_FORMAT.unit  # that may stand beside them

    @classmethod
    def fit(
        cls,
        name: str,
        column: Any,
        *,
        scaling: Scaling = "robust",
        number_format: NumberFormat = DEFAULT_NUMBER_FORMAT,
    ) -> NumericColumn:
        """Fit the statistics of the training rows, whose texts are numbers of that format."""
        if scaling not in get_args(Scaling):
            raise TabNASError(
                f"there is no scaling {scaling!r}; {did_you_mean(scaling, get_args(Scaling))}"
            )
        values = to_numbers(name, column, number_format)
        present = values[~np.isnan(values)]
        # halved first: the two middle values are added, which may overflow
        median = 2 * float(np.median(present / 2)) if len(present) else 0.0
        center, scale = _center_and_scale(present, median, scaling)
        return cls(
            name=name,
            center=center,
            scale=scale,
            fill=median,
            scaling=scaling,
            marks_missing=len(present) < len(values),
            decimal=number_format.decimal,
            unit=number_format.unit,
        )

    def read(self, column: Any) -> FloatArray:
        """Return values as numbers, NaN where missing."""
        return to_numbers(self.name, column, NumberFormat(self.decimal, self.unit))

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing") if self.marks_missing else (self.name,)

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        values = self.read(column)
        missing = np.isnan(values)
        values[missing] = self.fill
        numeric[:, 0] = self._scaled(values)
        if self.marks_missing:
            numeric[:, 1] = missing

    def _scaled(self, values: FloatArray) -> FloatArray:
        if self.scaling == "none":
            largest = float(np.finfo(np.float32).max)
            return np.clip(values, -largest, largest)
        # halved first: the difference of two large floats may overflow, that of their halves cannot
        with np.errstate(over="ignore"):
            scaled = np.clip((values / 2 - self.center / 2) / self.scale * 2, -FAR, FAR)
        if self.scaling == "robust":
            scaled /= np.sqrt(1 + (scaled / SMOOTH_LIMIT) ** 2)
        return scaled

    def invert(self, feature: int, encoded: FloatArray) -> FloatArray:
        if feature or self.scaling == "none":
            return encoded
        scaled = encoded
        if self.scaling == "robust":
            share = np.clip(encoded / SMOOTH_LIMIT, -MAX_SMOOTH_SHARE, MAX_SMOOTH_SHARE)
            scaled = encoded / np.sqrt(1 - share**2)
        with np.errstate(over="ignore"):
            return scaled * self.scale + self.center

    def describe(self) -> str:
        text = {
            "robust": f"centred on the median {self.center:g}, divided by {self.scale:g}, "
            f"bent towards ±{SMOOTH_LIMIT:g}",
            "standard": f"centred on the mean {self.center:g}, divided by {self.scale:g}",
            "none": "taken as it is",
        }[self.scaling]
        if self.decimal != DEFAULT_NUMBER_FORMAT.decimal:
            text += f"; texts have {self.decimal!r} for a decimal point"
        if self.unit:
            text += f"; texts may have the unit {self.unit!r}"
        if self.marks_missing:
            text += f"; missing values become the median {self.fill:g}, with an indicator"
        return text


def _center_and_scale(present: FloatArray, median: float, scaling: Scaling) -> tuple[float, float]:
    if scaling == "none" or not len(present):
        return 0.0, 1.0
    if scaling == "standard":
        largest = float(np.abs(present).max()) or 1.0
        return float((present / largest).mean()) * largest, _deviation(present)
    low, high = np.quantile(present / 2, [0.25, 0.75])
    scale = 2 * float(high - low) / NORMAL_QUARTILES
    if scale == 0:  # half the values are equal, or more: their deviation says more
        return median, _robust_deviation(present, median)
    return median, scale if scale < np.inf else 1.0


def _robust_deviation(present: FloatArray, median: float) -> float:
    """Return the deviation; if a few values far out decide it, the distance of most others."""
    deviation = _deviation(present)
    distances = np.abs(present / 2 - median / 2)
    others = distances[distances > 0]
    usual = 2 * float(np.quantile(others, USUAL_SHARE)) if len(others) else deviation
    return usual if 0 < usual < deviation / MAX_DEVIATION_RATIO else deviation


def _deviation(present: FloatArray) -> float:
    """Return the standard deviation; 1 if it is 0 or beyond the largest float."""
    largest = float(np.abs(present).max()) or 1.0  # sums of large values would overflow
    deviation = float((present / largest).std()) * largest
    return deviation if 0 < deviation < np.inf else 1.0
