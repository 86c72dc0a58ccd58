"""Cost against result of the candidates, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._facts import Candidate, RunFacts
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.report._words import (
    SHARES,
    cost_words,
    counted,
    greater_is_better,
    measured,
    metric_words,
    number,
)
from tabnas.report.figures._scatter import marks

LEFT, RIGHT, TOP, BOTTOM = 56.0, WIDTH - 16.0, 34.0, 230.0
MOST_LISTED = 30


def candidates(facts: RunFacts) -> Figure:
    """Every candidate by cost and result; the front joins those that nothing cheaper beats."""
    cost, metric = facts.main_cost, facts.metric
    title = "Candidates: cost against result"
    places = [(c.costs.get(cost, nan), c.result) for c in facts.candidates]
    finite = [place for place in places if all(map(isfinite, place))]
    front = pareto(places, greater=greater_is_better(metric))
    drawings = []
    if finite:
        limit = next((c.limit for c in facts.costs if c.name == cost), None)
        beside = [limit] if limit is not None and isfinite(limit) else []
        x = Scale.over([*(c for c, _ in finite), *beside], LEFT, RIGHT)
        y = Scale.over([r for _, r in finite], BOTTOM, TOP, margin=0.1)
        about = (
            f"{counted(len(finite), 'candidate')}, {counted(len(front), 'is', 'are')} on the front."
        )
        drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
        shares = (False, metric in SHARES)
        axes(drawing, x, y, cost_words(cost), metric_words(metric), percent=shares)
        for most in beside:
            drawing.line(x(most), TOP - 4, x(most), BOTTOM, "limit-line")
            drawing.text(x(most) - 4, TOP + 4, "limit", "tick", "end")
        drawing.polyline(_stairs(front, x, y, x(beside[0]) if beside else RIGHT), "front")
        marks(drawing, facts.candidates, places, x, y)
        drawings.append(drawing)
    return Figure(
        key="candidates",
        title=title,
        words=_words(facts, len(front)),
        drawings=drawings,
        table=_table(facts, {places.index(p) for p in front}),
    )


def pareto(places: Sequence[tuple[float, float]], *, greater: bool) -> list[tuple[float, float]]:
    """Those that nothing as cheap is as good as, cheapest first.

    >>> pareto([(3, 0.1), (1, 0.3), (2, 0.4)], greater=False)
    [(1, 0.3), (3, 0.1)]
    """
    front: list[tuple[float, float]] = []
    sign = -1 if greater else 1
    for cost, result in sorted(
        (p for p in places if all(map(isfinite, p))), key=lambda p: (p[0], sign * p[1])
    ):
        if not front or sign * result < sign * front[-1][1]:
            front.append((cost, result))
    return front


def _stairs(
    front: Sequence[tuple[float, float]], x: Scale, y: Scale, end: float
) -> list[tuple[float, float]]:
    """The border of what is reachable: a result holds until something dearer is better."""
    corners: list[tuple[float, float]] = []
    for cost, result in front:
        if corners:
            corners.append((x(cost), corners[-1][1]))
        corners.append((x(cost), y(result)))
    return [*corners, (max(end, corners[-1][0]), corners[-1][1])] if corners else []


def _words(facts: RunFacts, on_front: int) -> list[str]:
    better = "higher" if greater_is_better(facts.metric) else "lower"
    if not facts.candidates:
        return ["There is no record of candidates."]
    return [
        f"The search named {counted(len(facts.candidates), 'network')}; each was trained alone and "
        f"judged by {facts.chosen_by}. The {better}, the better. Number 1 became the model.",
        f"The line is the Pareto front: {counted(on_front, 'network')} that nothing cheaper "
        "beats. The dashed line is the limit; all candidates lie to its left.",
    ]


def _table(facts: RunFacts, front: set[int]) -> Table | None:
    if not facts.candidates:
        return None
    limited = [cost.name for cost in facts.limits] or [facts.main_cost]
    shown = facts.candidates[:MOST_LISTED]
    return Table(
        title="Candidates in numbers",
        headings=[
            "",
            "Architecture",
            metric_words(facts.metric),
            *map(cost_words, limited),
            "Epochs",
            "Pareto front",
        ],
        rows=[_row(k, c, facts, limited, k in front) for k, c in enumerate(shown)],
        note="The others are in result.json." if len(facts.candidates) > MOST_LISTED else "",
    )


def _row(
    k: int, candidate: Candidate, facts: RunFacts, limited: Sequence[str], on_front: bool
) -> list[str]:
    costs = [number(candidate.costs[name]) if name in candidate.costs else "" for name in limited]
    result = measured(facts.metric, candidate.result)
    front = "on the front" if on_front else ""
    return [str(k + 1), candidate.architecture, result, *costs, f"{candidate.epochs:,}", front]
