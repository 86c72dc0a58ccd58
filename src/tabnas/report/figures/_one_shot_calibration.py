"""How well the one-shot losses of the search predict the scores of stand-alone training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isfinite, nan

from tabnas.formatting import PERCENT_METRICS, format_count, greater_is_better, metric_label
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing, Point
from tabnas.report.figures._candidates import draw_marks
from tabnas.results import RunResult

LEFT, RIGHT, TOP, BOTTOM = 56.0, WIDTH - 16.0, 34.0, 230.0
MIN_CANDIDATES = 2
MAX_COMPARED = 1_000


def draw_one_shot_calibration(result: RunResult) -> Figure:
    """Draw the one-shot loss of each candidate against its score when trained stand-alone."""
    title = "Estimates of the search against the truth"
    estimates = [nan if c.one_shot_loss is None else c.one_shot_loss for c in result.candidates]
    first = _list_first(result)
    points = [
        (estimate if k in first else nan, candidate.score)
        for k, (estimate, candidate) in enumerate(zip(estimates, result.candidates, strict=True))
    ]
    finite = [point for point in points if all(map(isfinite, point))]
    if len(finite) < MIN_CANDIDATES:
        why = "There are too few candidates to compare estimates with results."
        return Figure(key="estimates", title=title, paragraphs=[why])
    x = Scale.from_values([a for a, _ in finite], LEFT, RIGHT, log=True)
    y = Scale.from_values([b for _, b in finite], BOTTOM, TOP, log=True, margin=0.1)
    agreeing, total = count_agreeing_pairs(finite, greater=greater_is_better(result.metric))
    pairs = format_count(total, "pair")
    drawing = Drawing(WIDTH, BOTTOM + 44, title, f"{agreeing} of {pairs} in the same order.")
    x_label, y_label = "one-shot loss, in the search", f"{metric_label(result.metric)}, stand-alone"
    percent = (False, result.metric in PERCENT_METRICS)
    draw_axes(drawing, x, y, x_label, y_label, percent=percent)
    draw_marks(drawing, result, points, x, y)
    paragraphs = [
        "During the search all networks share one set of weights, so the loss of each is known at "
        "once, but only as a one-shot estimate. Training a network stand-alone gives its true "
        "score. The two have different units; what matters is whether they rank networks alike.",
        f"Of {pairs} of candidates, {agreeing:,} {'is' if agreeing == 1 else 'are'} in the same "
        "order in both. That is why candidates are trained stand-alone before one is chosen.",
    ]
    if len(first) < len(points):
        paragraphs.append("Of an architecture that was trained several times, the best counts.")
    n_hidden = len(first) - len(finite)
    if n_hidden:
        candidates = format_count(n_hidden, "candidate")
        paragraphs.append(f"Left out: {candidates} without a finite estimate or result.")
    if x.logarithmic or y.logarithmic:
        paragraphs.append("Where values differ by orders of magnitude, the axis is logarithmic.")
    return Figure(key="estimates", title=title, paragraphs=paragraphs, drawings=[drawing])


def _list_first(result: RunResult) -> set[int]:
    """Return the numbers of the candidates without repeated architectures; the best are first."""
    architectures = [candidate.architecture for candidate in result.candidates]
    return {architectures.index(architecture) for architecture in architectures}


def count_agreeing_pairs(points: Sequence[Point], *, greater: bool) -> tuple[int, int]:
    """Return how many pairs have the same order by estimate and score, and how many differ.

    >>> count_agreeing_pairs([(1.0, 0.1), (2.0, 0.2), (3.0, 0.15)], greater=False)
    (2, 3)
    """
    sign = -1 if greater else 1
    pairs = [
        (a[0] - b[0]) * sign * (a[1] - b[1]) > 0
        for a, b in combinations(points[:MAX_COMPARED], 2)
        if a[0] != b[0] and a[1] != b[1]
    ]
    return sum(pairs), len(pairs)
