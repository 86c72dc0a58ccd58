"""Dates and times: the moment itself, and where in the year, week and day it falls."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tabnas.data._kinds import Kind
from tabnas.data._moments import seconds
from tabnas.data._state import finite, flag, positive, some_of
from tabnas.data.columns._column import EncodedColumn, Float32Array, Int32Array
from tabnas.types import FloatArray, IntArray

DAY = 86_400.0
FARTHEST = 3.0  # scaled moments stay within; far beyond the years of training nothing is known
CYCLES = {  # in days, and the day since 1970-01-01 on which one begins (a Monday for weeks)
    "year": (365.2425, 0.0),
    "week": (7.0, 4.0),
    "day": (1.0, 0.0),
}


@dataclass(frozen=True, kw_only=True)
class DatetimeColumn(EncodedColumn):
    """A moment becomes a scaled number, and sine and cosine of every cycle that matters.

    A cycle matters if the training rows span a whole one and do not all fall on one phase of it.
    """

    kind = Kind.DATETIME
    checks = MappingProxyType(
        {"center": finite, "scale": positive, "cycles": some_of(CYCLES), "marks_missing": flag}
    )

    center: float  # in days since 1970
    scale: float  # in days
    cycles: tuple[str, ...]
    marks_missing: bool

    @classmethod
    def fit(cls, name: str, column: Any) -> DatetimeColumn:
        """Find the span and the cycles of the training rows."""
        moments, missing = seconds(name, column)
        days = moments[~missing] / DAY
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
        moments, missing = seconds(self.name, column)
        features = [self._position(moments), *self._waves(moments)]
        for i, feature in enumerate(features):
            numeric[:, i] = np.where(missing, 0.0, feature)
        if self.marks_missing:
            numeric[:, -1] = missing

    def _position(self, moments: IntArray) -> FloatArray:
        with np.errstate(over="ignore"):
            position = (moments / DAY - self.center) / self.scale
        return np.asarray(np.clip(position, -FARTHEST, FARTHEST))

    def _waves(self, moments: IntArray) -> list[FloatArray]:
        waves = []
        for cycle in self.cycles:
            length, start = CYCLES[cycle]
            angle = 2 * np.pi * ((moments / DAY - start) % length) / length
            waves += [np.sin(angle), np.cos(angle)]
        return waves

    def describe(self) -> str:
        said = "the moment, scaled"
        if self.cycles:
            said += f", and its phase in the {', '.join(self.cycles)}"
        if self.marks_missing:
            said += "; an indicator where missing"
        return said
