"""Scales and axes of charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from tabnas.formatting import MAX_DECIMALS, PERCENT, format_all_fixed, format_number
from tabnas.report._svg import Drawing

WIDTH = 400
"""The width of every drawing: about its size on a phone; elsewhere it is shown larger."""
MARGIN = 0.06
MAX_TICKS = 12
MIN_DIFFERENCE = 1e-9  # relative to the values; smaller differences count as 0
MIN_LOG_RATIO = 20.0
"""From this ratio on, positive values get a logarithmic axis."""
MAX_LOG_RATIO, MIN_LOG = 1e100, 1e-250
"""Beyond these, margins on a logarithmic axis would overflow or underflow."""


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from values to coordinates."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def from_values(
        cls,
        values: Iterable[float],
        start: float,
        end: float,
        *,
        log: bool = False,
        min_log_ratio: float = MIN_LOG_RATIO,
        margin: float = MARGIN,
    ) -> Scale:
        """Return a scale that contains all finite values, with a margin.

        With `log`, it is logarithmic for positive values that differ by orders of magnitude.
        """
        finite = [value for value in values if isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if log and low > MIN_LOG and min_log_ratio < high / low < MAX_LOG_RATIO:
            padding = (high / low) ** margin
            return cls(low / padding, high * padding, start, end, logarithmic=True)
        if high - low <= MIN_DIFFERENCE * max(abs(low), abs(high)):
            half = abs(high) / 10 or 0.5
            low, high = low - half, high + half
        padding = margin * (high - low)
        return cls(low - padding, high + padding, start, end)

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = log10(low), log10(high), log10(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def contains(self, value: float) -> bool:
        """Return whether a value lies on the scale."""
        return isfinite(value) and self.low <= value <= self.high

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round values."""
        if self.logarithmic:
            powers = range(ceil(log10(self.low)), floor(log10(self.high)) + 1)
            if len(powers) >= 2:
                every = -(-len(powers) // count)
                return [10.0**power for power in powers][::every]
        rough = (self.high - self.low) / count
        unit = 10.0 ** floor(log10(rough))
        step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [k * step for k in range(first, min(last, first + MAX_TICKS) + 1)]


def tick_labels(scale: Scale, count: int, *, percent: bool = False) -> list[tuple[float, str]]:
    """Return the coordinates of round values with their texts, all with the same decimals."""
    ticks = scale.ticks(count)
    factor, unit = (100.0, PERCENT) if percent else (1.0, "")
    shown = [factor * value for value in ticks]
    if scale.logarithmic:
        texts = [format_number(value) for value in shown]
    else:
        texts = format_all_fixed(shown, max((_decimals(value) for value in shown), default=0))
    return [(scale(value), text + unit) for value, text in zip(ticks, texts, strict=True)]


def _decimals(value: float) -> int:
    """Return how many decimals a round value has."""
    digits = f"{value:.10g}"
    return len(digits.partition(".")[2]) if "e" not in digits else MAX_DECIMALS + 1


def draw_axes(
    drawing: Drawing,
    x: Scale,
    y: Scale,
    x_label: str,
    y_label: str,
    *,
    percent: tuple[bool, bool] = (False, False),
    x_ticks: Sequence[tuple[float, str]] | None = None,
) -> None:
    """Draw grid lines, ticks and labels; `y` runs upwards, from its start to its end.

    Parameters
    ----------
    percent
        Whether the values of x and y are shares, to be shown in percent.
    x_ticks
        Coordinates and texts of the ticks along x, instead of round values.
    """
    for at, text in tick_labels(y, 5, percent=percent[1]):
        drawing.line(x.start, at, x.end, at, "grid")
        drawing.text(x.start - 6, at + 4, text, "tick", "end")
    for at, text in tick_labels(x, 4, percent=percent[0]) if x_ticks is None else x_ticks:
        drawing.line(at, y.start, at, y.start + 4, "axis")
        drawing.text(at, y.start + 17, text, "tick", "middle")
    drawing.line(x.start, y.start, x.end, y.start, "axis")
    drawing.text(2, y.end - 10, y_label, "label")
    drawing.text(x.end, y.start + 34, x_label, "label", "end")
