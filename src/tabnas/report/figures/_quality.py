"""The quality of the networks that the search evaluated, and its training loss."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import fmean

from tabnas.formatting import format_number
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing, Point
from tabnas.results import Snapshot

LEFT, RIGHT, TOP, BOTTOM = 52.0, WIDTH - 12.0, 30.0, 180.0
NEIGHBOURS = 6
"""The points on either side that are averaged."""


def draw_quality(history: Sequence[Snapshot]) -> Figure:
    """Draw the quality of the sampled networks over time, and the training loss below."""
    qualities = _select_finite([(s.progress, s.quality) for s in history])
    losses = _select_finite([(s.progress, s.training_loss) for s in history])
    drawings, paragraphs = [], []
    if qualities:
        drawing = _draw(qualities, "Quality of the sampled networks", "quality", log=False)
        drawings.append(drawing)
        paragraphs.append(
            "Above: the quality of the networks that the search evaluated: 1 - loss on a batch of "
            "validation rows, with the shared weights. Dots are single evaluations, which are "
            f"noisy; the line is their running mean. {drawing.description}"
        )
    if losses:
        drawing = _draw(losses, "Training loss", "training loss", log=True)
        drawings.append(drawing)
        where = "Below" if qualities else "The figure shows"
        paragraphs.append(
            f"{where}: the loss of the shared weights on training batches. {drawing.description}"
        )
    if not drawings:
        paragraphs.append("There is no record of the search, so its course cannot be drawn.")
    return Figure(
        key="quality", title="Quality over time", paragraphs=paragraphs, drawings=drawings
    )


def running_mean(points: Sequence[Point]) -> list[Point]:
    """Replace each value by the mean of its neighbourhood.

    >>> running_mean([(0.0, 1.0), (1.0, 3.0)])
    [(0.0, 2.0), (1.0, 2.0)]
    """
    return [
        (x, fmean(v for _, v in points[max(0, k - NEIGHBOURS) : k + NEIGHBOURS + 1]))
        for k, (x, _) in enumerate(points)
    ]


def _select_finite(points: Sequence[tuple[float, float | None]]) -> list[Point]:
    return [(x, y) for x, y in points if y is not None and isfinite(x) and isfinite(y)]


def _draw(points: Sequence[Point], title: str, label: str, *, log: bool) -> Drawing:
    line = running_mean(points)
    about = f"Smoothed, from {format_number(line[0][1])} to {format_number(line[-1][1])}."
    drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
    x = Scale(0.0, 1.0, LEFT, RIGHT)
    y = Scale.from_values([v for _, v in points], BOTTOM, TOP, log=log)
    draw_axes(drawing, x, y, "share of the search", label, percent=(True, False))
    for progress, value in points:
        if x.contains(progress):
            drawing.circle(x(progress), y(value), 2, "dot")
    drawing.polyline([(x(p), y(v)) for p, v in line if x.contains(p)], "main-line")
    return drawing
