"""How likely the policy draws a network that keeps the limits: P(V)."""

from __future__ import annotations

from math import isfinite

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._words import percent

LEFT, RIGHT, TOP, BOTTOM = 52.0, WIDTH - 12.0, 30.0, 190.0
TINY = 0.01


def feasible_probability(facts: RunFacts) -> Figure:
    """A line over the course of the search."""
    title = "P(V): drawing a network within the limits"
    points = [
        (s.progress, s.feasible_probability)
        for s in facts.history
        if isfinite(s.progress) and isfinite(s.feasible_probability)
    ]
    if not points:
        why = "There is no record of the search, so P(V) cannot be drawn."
        return Figure(key="feasible-probability", title=title, words=[why])
    first, last = points[0][1], points[-1][1]
    x = Scale(0.0, 1.0, LEFT, RIGHT)
    most = max(p for _, p in points)
    positive = [p for _, p in points if p > 0]
    if most < TINY and positive:
        y = Scale.over(positive, BOTTOM, TOP, spread=True)
        points = [point for point in points if point[1] > 0]
    else:
        y = Scale(0.0, 1.0, BOTTOM, TOP)
    about = f"From {percent(first)} at the beginning to {percent(last)} at the end."
    drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
    axes(drawing, x, y, "share of the search", "P(V)", percent=(True, most >= TINY))
    drawing.polyline(
        [(x(min(1.0, max(0.0, p))), y(min(y.high, max(y.low, v)))) for p, v in points], "main-line"
    )
    return Figure(
        key="feasible-probability",
        title=title,
        words=[
            f"{about} This is the probability that a network drawn by the policy alone keeps "
            "every limit. It is computed, not sampled, wherever the space allows, and only "
            "networks that keep the limits are ever learned from.",
            _reading(first, last),
        ],
        drawings=[drawing],
    )


def _reading(first: float, last: float) -> str:
    if last > 1.05 * first:
        return "It rises: the policy has moved towards networks that the limits allow."
    if last < 0.95 * first:
        return (
            "It falls, and that is no fault: the best networks lie close to the limit, where many "
            "neighbours are over it."
        )
    return "It hardly moves: what the search prefers has little to do with the limit here."
