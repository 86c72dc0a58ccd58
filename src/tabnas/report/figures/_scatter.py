"""Numbered marks on two axes, for candidates."""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.report._chart import Scale
from tabnas.report._facts import Candidate
from tabnas.report._svg import Drawing
from tabnas.report._words import isolated

RADIUS = 8.0
MOST_NUMBERED = 30


def marks(
    drawing: Drawing,
    candidates: Sequence[Candidate],
    places: Sequence[tuple[float, float]],
    x: Scale,
    y: Scale,
) -> None:
    """A mark for every candidate, numbered from the best, which lies on top and stands out."""
    listed = list(enumerate(zip(candidates, places, strict=True), start=1))
    for rank, (candidate, (across, up)) in reversed(listed):
        if not (x.holds(across) and y.holds(up)):
            continue
        kind = "mark-best" if rank == 1 else "mark"
        drawing.begin(kind)
        drawing.circle(x(across), y(up), RADIUS, "disc", isolated(candidate.architecture))
        if rank <= MOST_NUMBERED:
            drawing.text(x(across), y(up) + 3.5, str(rank), "rank", "middle")
        drawing.end()
