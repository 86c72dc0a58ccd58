"""How good the networks were that the search looked at, over time."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import fmean

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing, Point
from tabnas.report._words import number

LEFT, RIGHT, TOP, BOTTOM = 52.0, WIDTH - 12.0, 30.0, 180.0
NEIGHBOURS = 6
"""Looks on either side that a smoothed value is the mean of."""


def quality(facts: RunFacts) -> Figure:
    """Quality of the networks drawn, and the training loss beneath it."""
    looks = [
        (s.progress, s.quality)
        for s in facts.history
        if s.quality is not None and isfinite(s.quality) and isfinite(s.progress)
    ]
    losses = [
        (s.progress, s.training_loss)
        for s in facts.history
        if isfinite(s.training_loss) and isfinite(s.progress)
    ]
    drawings = []
    words = []
    if looks:
        smooth = smoothed(looks)
        about = f"Smoothed, from {number(smooth[0][1])} to {number(smooth[-1][1])}."
        drawings.append(
            _panel(looks, smooth, "Quality of the networks drawn", "quality", about, spread=False)
        )
        words.append(
            "Above: the quality of the networks that the search looked at, 1 less the loss on a "
            "batch of validation rows, with the shared weights. Dots are single looks, which are "
            f"noisy; the line is their running mean. {about}"
        )
    if losses:
        smooth = smoothed(losses)
        about = f"Smoothed, from {number(smooth[0][1])} to {number(smooth[-1][1])}."
        drawings.append(
            _panel(losses, smooth, "Training loss", "training loss", about, spread=True)
        )
        where = "Below" if looks else "The picture shows"
        words.append(
            f"{where}: the loss of the shared weights on the batches they learn from. {about}"
        )
    if not drawings:
        words.append("There is no record of the search, so its course cannot be drawn.")
    return Figure(key="quality", title="Quality over time", words=words, drawings=drawings)


def smoothed(points: Sequence[Point]) -> list[Point]:
    """Each value as the mean of its neighbourhood.

    >>> smoothed([(0.0, 1.0), (1.0, 3.0)])
    [(0.0, 2.0), (1.0, 2.0)]
    """
    return [
        (x, fmean(v for _, v in points[max(0, k - NEIGHBOURS) : k + NEIGHBOURS + 1]))
        for k, (x, _) in enumerate(points)
    ]


def _panel(
    points: Sequence[Point], line: Sequence[Point], title: str, up: str, about: str, *, spread: bool
) -> Drawing:
    drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
    x = Scale(0.0, 1.0, LEFT, RIGHT)
    y = Scale.over([v for _, v in points], BOTTOM, TOP, spread=spread)
    axes(drawing, x, y, "share of the search", up, percent=(True, False))
    for progress, value in points:
        if x.holds(progress):
            drawing.circle(x(progress), y(value), 2, "dot")
    drawing.polyline([(x(p), y(v)) for p, v in line if x.holds(p)], "main-line")
    return drawing
