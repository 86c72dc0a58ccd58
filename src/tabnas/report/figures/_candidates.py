"""Cost against score of the candidates, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

from tabnas.formatting import (
    PERCENT_METRICS,
    cost_label,
    format_count,
    format_number,
    format_score,
    greater_is_better,
    metric_label,
)
from tabnas.pareto import is_pareto_optimal
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing, Point
from tabnas.results import RunResult

LEFT, RIGHT, TOP, BOTTOM = 56.0, WIDTH - 16.0, 34.0, 230.0
RADIUS = 8.0
MAX_NUMBERED = MAX_LISTED = 30


def draw_candidates(result: RunResult) -> Figure:
    """Draw every candidate by its cost and score, and the Pareto front."""
    cost, metric = result.main_cost, result.metric
    title = "Candidates: cost against result"
    points = [(c.costs.get(cost, nan), c.score) for c in result.candidates]
    finite = [point for point in points if all(map(isfinite, point))]
    front = pareto_front(finite, greater=greater_is_better(metric))
    drawings = []
    if finite:
        limit = result.costs[cost].limit
        limits = [] if limit is None else [limit]
        x = Scale.from_values([*(c for c, _ in finite), *limits], LEFT, RIGHT)
        y = Scale.from_values([score for _, score in finite], BOTTOM, TOP, margin=0.1)
        on_front = format_count(len(front), "is", "are")
        about = f"{format_count(len(finite), 'candidate')}, {on_front} on the front."
        drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
        percent = (False, metric in PERCENT_METRICS)
        draw_axes(drawing, x, y, cost_label(cost), metric_label(metric), percent=percent)
        for limit in limits:
            drawing.line(x(limit), TOP - 4, x(limit), BOTTOM, "limit-line")
            drawing.text(x(limit) - 4, TOP + 4, "limit", "tick", "end")
        drawing.polyline(_stairs(front, x, y, x(limits[0]) if limits else RIGHT), "front")
        draw_marks(drawing, result, points, x, y)
        drawings.append(drawing)
    return Figure(
        key="candidates",
        title=title,
        paragraphs=_describe(result, len(front)),
        drawings=drawings,
        table=_table(result, {points.index(point) for point in front}),
    )


def draw_marks(
    drawing: Drawing,
    result: RunResult,
    points: Sequence[Point],
    x: Scale,
    y: Scale,
) -> None:
    """Draw a mark for every candidate, numbered from the best, which is on top."""
    numbered = list(enumerate(zip(result.candidates, points, strict=True), start=1))
    for rank, (candidate, (a, b)) in reversed(numbered):
        if not (x.contains(a) and y.contains(b)):
            continue
        drawing.begin_group("mark-best" if rank == 1 else "mark")
        drawing.circle(x(a), y(b), RADIUS, "disc", result.candidate_name(candidate))
        if rank <= MAX_NUMBERED:
            drawing.text(x(a), y(b) + 3.5, str(rank), "rank", "middle")
        drawing.end_group()


def pareto_front(points: Sequence[Point], *, greater: bool) -> list[Point]:
    """Return the points (cost, score) that no other point dominates, the cheapest first.

    >>> pareto_front([(3, 0.1), (1, 0.3), (2, 0.4)], greater=False)
    [(1, 0.3), (3, 0.1)]
    """
    distinct = sorted(set(points))
    sign = -1 if greater else 1
    optimal = is_pareto_optimal([cost for cost, _ in distinct], [sign * y for _, y in distinct])
    return [point for point, is_optimal in zip(distinct, optimal, strict=True) if is_optimal]


def _stairs(front: Sequence[Point], x: Scale, y: Scale, end: float) -> list[Point]:
    """Return the corners of the front: a score holds until a more expensive one is better."""
    corners: list[Point] = []
    for cost, score in front:
        if corners:
            corners.append((x(cost), corners[-1][1]))
        corners.append((x(cost), y(score)))
    return [*corners, (max(end, corners[-1][0]), corners[-1][1])] if corners else []


def _describe(result: RunResult, n_front: int) -> list[str]:
    better = "higher" if greater_is_better(result.metric) else "lower"
    if not result.candidates:
        return ["There is no record of candidates."]
    n_networks = len({c.architecture for c in result.candidates})
    ways = ""
    if result.teacher is not None:
        ways += " Some learned in several ways, from labels and a teacher."
    if any(c.is_longer for c in result.candidates):
        ways += " The best was trained once more, for longer."
    if len(result.candidates) > n_networks:
        ways += f" There are {format_count(len(result.candidates), 'candidate')} in all."
    return [
        f"{format_count(n_networks, 'network')} {'was' if n_networks == 1 else 'were'} trained "
        f"stand-alone and scored by {result.chosen_by}.{ways} The {better}, the better. "
        "Number 1 became the model.",
        f"The line is the Pareto front: {format_count(n_front, 'network')} that nothing cheaper "
        "beats. The dashed line is the limit; all candidates lie to its left.",
    ]


def _table(result: RunResult, front: set[int]) -> Table | None:
    if not result.candidates:
        return None
    costs = list(result.limited_costs) or [result.main_cost]
    rows = [
        [
            str(k + 1),
            str(candidate.architecture),
            *([] if result.teacher is None else [candidate.learned_from]),
            *([candidate.precision] if result.has_rounded_candidates else []),
            format_score(result.metric, candidate.score),
            *(format_number(candidate.costs[c]) if c in candidate.costs else "" for c in costs),
            result.format_epochs(candidate),
            "on the front" if k in front else "",
        ]
        for k, candidate in enumerate(result.candidates[:MAX_LISTED])
    ]
    metric = metric_label(result.metric)
    return Table(
        title="Candidates in numbers",
        headings=[
            "",
            "Architecture",
            *([] if result.teacher is None else ["Learned from"]),
            *(["Weights"] if result.has_rounded_candidates else []),
            metric,
            *map(cost_label, costs),
            "Epochs",
            "Pareto front",
        ],
        rows=rows,
        note="The others are in result.json." if len(result.candidates) > MAX_LISTED else "",
    )
