"""Axes: where values lie in a picture, and the marks that say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from tabnas.report._svg import Drawing
from tabnas.report._words import MOST_PLACES, PERCENT, alike, number

WIDTH = 400
"""Of every picture: shown at about this size on a phone, and somewhat larger elsewhere."""
MARGIN = 0.06
MOST_TICKS = 12
DISTINCT = 1e-9  # of the values: what differs by less is the same
LOG_FROM = 20.0
"""The ratio from which positive values are better seen on a logarithmic axis."""
LOG_TO, LEAST_LOG = 1e100, 1e-250
"""A greater ratio, or a smaller value, cannot be given room without leaving the numbers."""


@dataclass(frozen=True)
class Scale:
    """From values to places, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls,
        values: Iterable[float],
        start: float,
        end: float,
        *,
        spread: bool = False,
        spread_from: float = LOG_FROM,
        margin: float = MARGIN,
    ) -> Scale:
        """A scale that holds all finite values, with some room.

        With `spread`, positive values that differ by orders of magnitude get a logarithmic one.
        """
        finite = [value for value in values if isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if spread and low > LEAST_LOG and spread_from < high / low < LOG_TO:
            room = (high / low) ** margin
            return cls(low / room, high * room, start, end, logarithmic=True)
        if high - low <= DISTINCT * max(abs(low), abs(high)):
            half = abs(high) / 10 or 0.5
            low, high = low - half, high + half
        room = margin * (high - low)
        return cls(low - room, high + room, start, end)

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = log10(low), log10(high), log10(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether the value can be shown."""
        return isfinite(value) and self.low <= value <= self.high

    def ticks(self, about: int = 5) -> list[float]:
        """Round values to mark."""
        if self.logarithmic:
            powers = range(ceil(log10(self.low)), floor(log10(self.high)) + 1)
            if len(powers) >= 2:
                every = -(-len(powers) // about)
                return [10.0**power for power in powers][::every]
        rough = (self.high - self.low) / about
        unit = 10.0 ** floor(log10(rough))
        step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [k * step for k in range(first, min(last, first + MOST_TICKS) + 1)]


def marked(scale: Scale, about: int, *, percent: bool = False) -> list[tuple[float, str]]:
    """The places of round values, and these as texts with the same digits after the point."""
    ticks = scale.ticks(about)
    factor, unit = (100.0, PERCENT) if percent else (1.0, "")
    shown = [factor * value for value in ticks]
    if scale.logarithmic:
        texts = [number(value) for value in shown]
    else:
        texts = alike(shown, max((_places(value) for value in shown), default=0))
    return [(scale(value), text + unit) for value, text in zip(ticks, texts, strict=True)]


def _places(value: float) -> int:
    """Digits after the point that a round value needs."""
    digits = f"{value:.10g}"
    return len(digits.partition(".")[2]) if "e" not in digits else MOST_PLACES + 1


def axes(
    drawing: Drawing,
    x: Scale,
    y: Scale,
    across: str,
    up: str,
    *,
    percent: tuple[bool, bool] = (False, False),
    marks: Sequence[tuple[float, str]] | None = None,
) -> None:
    """Grid lines, their values, and what the axes are; `y` runs upwards, from start to end.

    `percent` says of which of the two the values are shares; `marks` are places and texts to have
    along `x` instead of round values.
    """
    for place, text in marked(y, 5, percent=percent[1]):
        drawing.line(x.start, place, x.end, place, "grid")
        drawing.text(x.start - 6, place + 4, text, "tick", "end")
    for place, text in marked(x, 4, percent=percent[0]) if marks is None else marks:
        drawing.line(place, y.start, place, y.start + 4, "axis")
        drawing.text(place, y.start + 17, text, "tick", "middle")
    drawing.line(x.start, y.start, x.end, y.start, "axis")
    drawing.text(2, y.end - 10, up, "label")
    drawing.text(x.end, y.start + 34, across, "label", "end")
