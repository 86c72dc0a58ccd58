"""Room for words in a picture, beside what is drawn there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, hypot

from tabnas.report._svg import Point
from tabnas.report._words import text_width

LETTER = 7.0
"""How wide a small Latin letter may be in a picture, in the widest of the page's fonts."""
LINE = 13.0
STEP = 3.0
REACHES = (9.0, 20.0, 32.0, 46.0, 62.0)


@dataclass(frozen=True)
class Box:
    """A rectangle: from its upper left corner to its lower right one."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether the two have a place in common."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)

    def within(self, other: Box) -> bool:
        """Whether it sticks out nowhere."""
        wide = other.left <= self.left and self.right <= other.right
        return wide and other.top <= self.top and self.bottom <= other.bottom


@dataclass
class Room:
    """What of a frame is taken."""

    frame: Box
    taken: list[Box] = field(default_factory=list)

    def take(self, box: Box) -> None:
        """Keep words out of a rectangle."""
        self.taken.append(box)

    def take_line(self, points: Sequence[Point]) -> None:
        """Keep words off a line through points."""
        for (x1, y1), (x2, y2) in pairwise(points):
            steps = max(1, ceil(hypot(x2 - x1, y2 - y1) / STEP))
            for k in range(steps + 1):
                x, y = x1 + (x2 - x1) * k / steps, y1 + (y2 - y1) * k / steps
                self.take(Box(x - 1, y - 1, x + 1, y + 1))

    def find(self, wishes: Iterable[Box]) -> Box | None:
        """The first wish that can be had, which is taken then; None if none can."""
        for box in wishes:
            if box.within(self.frame) and not any(box.meets(other) for other in self.taken):
                self.take(box)
                return box
        return None


def box_of(words: str, left: float, middle: float) -> Box:
    """Where a line of words lies that begins at `left`."""
    return Box(left, middle - LINE / 2, left + LETTER * text_width(words), middle + LINE / 2)


def around(words: str, x: float, y: float, *, upwards: bool) -> Iterator[Box]:
    """Places for words about a point, the nearest first: to the right, then to the left of it."""
    width = LETTER * text_width(words)
    up = -1 if upwards else 1
    for reach in REACHES:
        for across, down in ((1, 0.6 * up), (1, 0), (1, -0.6 * up), (-1, -0.6 * up), (-1, 0)):
            near = x + across * reach * (1.0 if down == 0 else 0.8)
            yield box_of(words, near if across > 0 else near - width, y + down * reach)
        yield box_of(words, x - width / 2, y + up * (reach + LINE / 2))
        yield box_of(words, x - width / 2, y - up * (reach + LINE / 2))
        yield box_of(words, x - 0.8 * reach - width, y + 0.6 * up * reach)
