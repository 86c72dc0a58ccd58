"""P(V): the probability that the policy samples a network within the limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from tabnas.formatting import format_percent
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.results import Snapshot

LEFT, RIGHT, TOP, BOTTOM = 52.0, WIDTH - 12.0, 30.0, 190.0
MIN_LINEAR = 0.01
"""If all probabilities are smaller, the axis is logarithmic."""


def draw_feasible_probability(history: Sequence[Snapshot]) -> Figure:
    """Draw P(V) over the course of the search."""
    title = "P(V): sampling a network within the limits"
    points = [
        (s.progress, s.feasible_probability)
        for s in history
        if isfinite(s.progress) and isfinite(s.feasible_probability)
    ]
    if not points:
        why = "There is no record of the search, so P(V) cannot be drawn."
        return Figure(key="feasible-probability", title=title, paragraphs=[why])
    first, last = points[0][1], points[-1][1]
    about = f"From {format_percent(first)} at the beginning to {format_percent(last)} at the end."
    x, y = Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, 1.0, BOTTOM, TOP)
    largest = max(p for _, p in points)
    positive = [point for point in points if point[1] > 0]
    if largest < MIN_LINEAR and positive:
        points = positive
        y = Scale.from_values([p for _, p in points], BOTTOM, TOP, log=True)
    drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
    percent = (True, largest >= MIN_LINEAR)
    draw_axes(drawing, x, y, "share of the search", "P(V)", percent=percent)
    drawing.polyline(
        [(x(min(1.0, max(0.0, p))), y(min(y.high, max(y.low, v)))) for p, v in points], "main-line"
    )
    return Figure(
        key="feasible-probability",
        title=title,
        paragraphs=[
            f"{about} This is the probability that a network sampled from the policy keeps every "
            "limit. It is computed exactly where the space allows, and the policy learns only from "
            "networks that keep the limits.",
            _interpret(first, last),
        ],
        drawings=[drawing],
    )


def _interpret(first: float, last: float) -> str:
    if last > 1.05 * first:
        return "It rises: the policy has moved towards networks that the limits allow."
    if last < 0.95 * first:
        return (
            "It falls, and that is no fault: the best networks lie close to the limit, where many "
            "neighbours are over it."
        )
    return "It hardly moves: what the search prefers has little to do with the limit here."
