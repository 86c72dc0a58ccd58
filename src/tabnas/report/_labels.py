"""Places for the labels of a drawing that cover neither each other nor what is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, hypot

from tabnas.formatting import text_width
from tabnas.report._svg import Point

LETTER_WIDTH = 7.0
"""The largest width of a small Latin letter, over the fonts of the page."""
LINE_HEIGHT = 13.0
STEP = 3.0
DISTANCES = (9.0, 20.0, 32.0, 46.0, 62.0)


@dataclass(frozen=True)
class Box:
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Return whether two boxes overlap."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)

    def is_within(self, other: Box) -> bool:
        """Return whether another box contains this one."""
        fits = other.left <= self.left and self.right <= other.right
        return fits and other.top <= self.top and self.bottom <= other.bottom


@dataclass
class LabelPlacer:
    """A frame, and the boxes in it that labels avoid."""

    frame: Box
    reserved: list[Box] = field(default_factory=list)

    def reserve(self, box: Box) -> None:
        """Keep labels out of a box."""
        self.reserved.append(box)

    def reserve_line(self, points: Sequence[Point]) -> None:
        """Keep labels off a line through points."""
        for (x1, y1), (x2, y2) in pairwise(points):
            steps = max(1, ceil(hypot(x2 - x1, y2 - y1) / STEP))
            for k in range(steps + 1):
                x, y = x1 + (x2 - x1) * k / steps, y1 + (y2 - y1) * k / steps
                self.reserve(Box(x - 1, y - 1, x + 1, y + 1))

    def place(self, boxes: Iterable[Box]) -> Box | None:
        """Reserve and return the first box that is free; None if none is."""
        for box in boxes:
            if box.is_within(self.frame) and not any(map(box.overlaps, self.reserved)):
                self.reserve(box)
                return box
        return None


def text_box(text: str, left: float, middle: float) -> Box:
    """Return the box of a line of text."""
    right, half = left + LETTER_WIDTH * text_width(text), LINE_HEIGHT / 2
    return Box(left, middle - half, right, middle + half)


def boxes_around(text: str, x: float, y: float, *, upwards: bool) -> Iterator[Box]:
    """Yield boxes for a text around a point, the nearest first, to the right before the left."""
    width = LETTER_WIDTH * text_width(text)
    up = -1 if upwards else 1
    for distance in DISTANCES:
        for across, down in ((1, 0.6 * up), (1, 0), (1, -0.6 * up), (-1, -0.6 * up), (-1, 0)):
            near = x + across * distance * (1.0 if down == 0 else 0.8)
            yield text_box(text, near if across > 0 else near - width, y + down * distance)
        yield text_box(text, x - width / 2, y + up * (distance + LINE_HEIGHT / 2))
        yield text_box(text, x - width / 2, y - up * (distance + LINE_HEIGHT / 2))
        yield text_box(text, x - 0.8 * distance - width, y + 0.6 * up * distance)
