"""Datetime columns: the time itself, and its phase in the year, week and day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tabnas.data._datetimes import to_seconds
from tabnas.data._kinds import Kind
from tabnas.data.columns._column import FittedColumn
from tabnas.decoding import FiniteFloat, PositiveFloat
from tabnas.errors import TabNASError
from tabnas.types import Float32Array, FloatArray, Int32Array, IntArray

DAY = 86_400.0
MAX_SCALED_TIME = 3.0  # beyond the years of training, nothing is known
Cycle = Literal["year", "week", "day"]
CYCLES: dict[Cycle, tuple[float, float]] = {
    "year": (365.2425, 0.0),
    "week": (7.0, 4.0),
    "day": (1.0, 0.0),
}
"""The length in days, and the day since 1970-01-01 on which a cycle begins (a Monday for weeks)."""

USUAL_DAYS = (-354_285.0, 84_006.0)
"""Days since 1970 of the years 1000 to 2199: others would decide the span of a column."""


@dataclass(frozen=True, kw_only=True)
class DatetimeColumn(FittedColumn):
    """A time becomes a scaled number, and the sine and cosine of every relevant cycle.

    A cycle is relevant if the training rows span one and do not all have the same phase.
    """

    kind = Kind.DATETIME
    center: FiniteFloat  # in days since 1970
    scale: PositiveFloat  # in days
    cycles: tuple[Cycle, ...]
    marks_missing: bool

    def __post_init__(self) -> None:
        if len(set(self.cycles)) < len(self.cycles):
            raise TabNASError(f"cycles must differ, got {self.cycles}")

    @classmethod
    def fit(cls, name: str, column: Any) -> DatetimeColumn:
        """Fit the span and the cycles of the training rows, without placeholders."""
        seconds, missing = to_seconds(name, column)
        days = _drop_placeholders(seconds[~missing] / DAY)
        span = float(days.max() - days.min()) if len(days) else 0.0
        cycles = [
            cycle
            for cycle, (length, start) in CYCLES.items()
            if span >= length and len(np.unique(np.round((days - start) % length, 6))) > 1
        ]
        return cls(
            name=name,
            center=float(np.median(days)) if len(days) else 0.0,
            scale=span / 2 or 1.0,
            cycles=tuple(cycles),
            marks_missing=bool(missing.any()),
        )

    @property
    def features(self) -> tuple[str, ...]:
        waves = [f"{self.name} {c} {w}" for c in self.cycles for w in ("sine", "cosine")]
        missing = [f"{self.name} is missing"] if self.marks_missing else []
        return (self.name, *waves, *missing)

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        seconds, missing = to_seconds(self.name, column)
        features = [self._position(seconds), *self._waves(seconds)]
        for i, feature in enumerate(features):
            numeric[:, i] = np.where(missing, 0.0, feature)
        if self.marks_missing:
            numeric[:, -1] = missing

    def _position(self, seconds: IntArray) -> FloatArray:
        with np.errstate(over="ignore"):
            position = (seconds / DAY - self.center) / self.scale
        return np.asarray(np.clip(position, -MAX_SCALED_TIME, MAX_SCALED_TIME))

    def _waves(self, seconds: IntArray) -> list[FloatArray]:
        waves = []
        for cycle in self.cycles:
            length, start = CYCLES[cycle]
            angle = 2 * np.pi * ((seconds / DAY - start) % length) / length
            waves += [np.sin(angle), np.cos(angle)]
        return waves

    def invert(self, feature: int, encoded: FloatArray) -> FloatArray:
        """Return the seconds since 1970 of the scaled time; sines and cosines as they are."""
        return encoded if feature else DAY * (encoded * self.scale + self.center)

    def describe(self) -> str:
        text = "the time, scaled"
        if self.cycles:
            text += f", and its phase in the {', '.join(self.cycles)}"
        if self.marks_missing:
            text += "; an indicator where missing"
        return text


def _drop_placeholders(days: FloatArray) -> FloatArray:
    """Return the days in usual years, if any: 9999-12-31, say, stands for no end."""
    first, last = USUAL_DAYS
    usual = days[(days >= first) & (days < last)]
    return usual if len(usual) else days
