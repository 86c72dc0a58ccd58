"""The curve of a trade-off: cost against score of its networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from tabnas.formatting import (
    PERCENT,
    PERCENT_METRICS,
    cost_label,
    format_count,
    format_interval,
    format_number,
    join_words,
    metric_label,
    text_width,
    truncate,
)
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure
from tabnas.report._labels import LETTER_WIDTH, Box, LabelPlacer, boxes_around, text_box
from tabnas.report._svg import Drawing, Point
from tabnas.report._tradeoff_text import format_network, format_value
from tabnas.results import TEACHER, TradeoffModel, TradeoffResult
from tabnas.space import BOTTLENECK_DEFINITION

LEFT, RIGHT, TOP, BOTTOM = 56.0, WIDTH - 16.0, 40.0, 316.0
RADIUS = 5.5
MIN_LOG_RATIO = 4.0
"""Limits are mostly doubled, so the axis is logarithmic from smaller ratios on than elsewhere."""
MAX_OUTSIDE = 0.5
"""References farther from the networks' range than this share of it are not drawn to scale."""
MAX_NAME_WIDTH = 26
TREES = "boosted trees"
MAX_REFERENCES = 4


def draw_curve(result: TradeoffResult) -> Figure:
    """Draw a mark and interval for every network, and a line through the Pareto-optimal ones."""
    models = [group[0] for group in result.networks if isfinite(result.score(group[0]).value)]
    title = f"What more {cost_label(result.cost)} buy"
    if not models:
        why = "No network has a score to be drawn."
        return Figure(key="tradeoff", title=title, paragraphs=[why])
    about = "; ".join(_describe_network(result, model) for model in models)
    values = [value for m in models for value in (result.used(m), m.limit)]
    x = Scale.from_values(values, LEFT, RIGHT, log=True, min_log_ratio=MIN_LOG_RATIO)
    curve = _Curve(
        result,
        models,
        x,
        _score_scale(result, models),
        Drawing(WIDTH, BOTTOM + 44, title, f"{about}."),
    )
    curve.draw_axes()
    curve.draw_front()
    for model in models:
        curve.draw_network(model)
    curve.draw_references()
    n_unnamed = curve.draw_names()
    return Figure(
        key="tradeoff",
        title=title,
        paragraphs=_describe(result, models, x, n_unnamed),
        drawings=[curve.drawing],
    )


@dataclass
class _Curve:
    """The drawing of a curve, with its scales and the places for its labels."""

    result: TradeoffResult
    models: list[TradeoffModel]
    x: Scale
    y: Scale
    drawing: Drawing
    placer: LabelPlacer = field(
        default_factory=lambda: LabelPlacer(Box(LEFT + 2, TOP - 4, WIDTH, BOTTOM - 2))
    )

    def point(self, model: TradeoffModel) -> Point:
        """Return where the mark of a network is."""
        return self.x(self.result.used(model)), self.y(self.result.score(model).value)

    def draw_axes(self) -> None:
        """Draw the axes, with the limits as ticks."""
        result = self.result
        ticks = _limit_ticks(result, self.x)
        for at, _ in ticks:
            self.drawing.line(at, BOTTOM, at, TOP, "grid")
        draw_axes(
            self.drawing,
            self.x,
            self.y,
            f"limit on {cost_label(result.cost)}",
            metric_label(result.metric),
            percent=(False, result.metric in PERCENT_METRICS),
            x_ticks=ticks,
        )
        better = "more is better" if result.greater_is_better else "less is better"
        self.drawing.text(RIGHT, TOP - 10, better, "tick", "end")

    def draw_front(self) -> None:
        """Draw the line through the Pareto-optimal networks."""
        optimal = sorted((m for m in self.models if m.pareto_optimal), key=self.result.used)
        line = list(map(self.point, optimal))
        self.drawing.polyline(line, "front")
        self.placer.reserve_line(line)

    def draw_network(self, model: TradeoffModel) -> None:
        """Draw the interval of a network and its mark, a diamond if it has a bottleneck."""
        drawing, (x, y) = self.drawing, self.point(model)
        score = self.result.score(model)
        ends = [self.y(end) if self.y.contains(end) else y for end in (score.low, score.high)]
        if ends[0] != ends[1]:
            drawing.line(x, ends[0], x, ends[1], "whisker")
            for end in ends:
                drawing.line(x - 3, end, x + 3, end, "whisker")
        self.placer.reserve(Box(x - 4, min(*ends, y), x + 4, max(*ends, y)))
        self.placer.reserve(Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))
        drawing.begin_group("mark-best" if model.pareto_optimal else "mark")
        if model.bottlenecks:
            half = 1.3 * RADIUS
            corners = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
            drawing.polygon(corners, "disc", format_network(model))
        else:
            drawing.circle(x, y, RADIUS, "disc", format_network(model))
        drawing.end_group()

    def draw_references(self) -> None:
        """Draw a line for each reference score, or an arrow to where it lies."""
        low, high = self.y.low, self.y.high
        references = [
            (name, score)
            for name, score in list(self.result.reference_scores.items())[:MAX_REFERENCES]
            if isfinite(score.value)
        ]
        for _, score in references:
            if self.y.contains(score.value):
                y = self.y(score.value)
                self.drawing.line(LEFT, y, RIGHT, y, "guide")
                self.placer.reserve_line([(LEFT, y), (RIGHT, y)])
        for name, score in references:
            text = f"{truncate(name, MAX_NAME_WIDTH)} {format_value(self.result, score.value)}"
            width = LETTER_WIDTH * text_width(text)
            if self.y.contains(score.value):
                y = self.y(score.value)
                levels: tuple[float, ...] = (y - 9, y + 9, y + 26, y - 26)
            else:
                is_above = score.value > high
                text = f"{'▴' if is_above else '▾'} {text}"
                width += 2 * LETTER_WIDTH
                levels = (TOP + 6, TOP + 20) if is_above else (BOTTOM - 10, BOTTOM - 24)
            is_good = (score.value > (low + high) / 2) == self.result.greater_is_better
            sides = (LEFT + 4, RIGHT - width) if is_good else (RIGHT - width, LEFT + 4)
            middle = (LEFT + RIGHT - width) / 2  # fallback: centred
            box = self.placer.place(
                text_box(text, left, level) for left in (*sides, middle) for level in levels
            )
            if box is not None:
                self.drawing.text(box.left, box.bottom - 3, text, "tick")

    def draw_names(self) -> int:
        """Write the architectures next to their marks; return how many do not fit."""
        n_unnamed = 0
        upwards = not self.result.greater_is_better
        for model in sorted(self.models, key=lambda m: (not m.pareto_optimal, self.result.used(m))):
            x, y = self.point(model)
            name = truncate(str(model.architecture), MAX_NAME_WIDTH)
            box = self.placer.place(boxes_around(name, x, y, upwards=upwards))
            if box is None:
                n_unnamed += 1
                continue
            nearest = min(max(x, box.left), box.right)
            middle = (box.top + box.bottom) / 2
            if abs(nearest - x) > 2 * RADIUS or abs(middle - y) > 4 * RADIUS:
                self.drawing.line(x, y, nearest, min(max(y, box.top), box.bottom), "axis")
            self.drawing.text(box.left, box.bottom - 3, name, "label")
        return n_unnamed


def _score_scale(result: TradeoffResult, models: list[TradeoffModel]) -> Scale:
    """Return the scale of the scores, with the references that are near."""
    scores = map(result.score, models)
    ends = [end for score in scores for end in (score.low, score.value, score.high)]
    finite = [end for end in ends if isfinite(end)]
    low, high = min(finite), max(finite)
    reach = MAX_OUTSIDE * (high - low)
    references = [score.value for score in result.reference_scores.values()]
    near = [value for value in references if low - reach <= value <= high + reach]
    return Scale.from_values([*finite, *near], BOTTOM, TOP, margin=0.08)


def _limit_ticks(result: TradeoffResult, x: Scale) -> list[tuple[float, str]]:
    """Return the limits as ticks, the widest first, without those whose texts would overlap."""
    ticks: list[tuple[float, str]] = []
    boxes: list[Box] = []
    for limit in sorted({m.limit for m in result.models}, reverse=True):
        if x.contains(limit):
            text = format_number(limit)
            half = LETTER_WIDTH * text_width(text) / 2
            box = Box(x(limit) - half - 2, 0, x(limit) + half + 2, 1)
            if not any(map(box.overlaps, boxes)):
                boxes.append(box)
                ticks.append((x(limit), text))
    return ticks


def _describe_network(result: TradeoffResult, model: TradeoffModel) -> str:
    score = result.score(model)
    value, low, high = format_interval(result.metric, score.value, score.low, score.high)
    interval = f" ({low} to {high})" if result.is_tested else ""
    used = f"{format_number(result.used(model))} {cost_label(result.cost)}"
    return f"{format_network(model)}: {used}, {metric_label(result.metric)} {value}{interval}"


def _describe(
    result: TradeoffResult, models: list[TradeoffModel], x: Scale, n_unnamed: int
) -> list[str]:
    metric = metric_label(result.metric)
    where = (
        f"{format_count(result.rows.test, 'test row')}, with its 95{PERCENT} interval."
        if result.is_tested
        else "validation rows. No rows were held out for a test, so there are no intervals."
    )
    scale = " The cost axis is logarithmic." if x.logarithmic else ""
    key = ["● joined by the line: nothing cheaper was as good on validation rows"]
    if any(not m.pareto_optimal for m in models):
        key.append("○ hollow: a cheaper one was as good")
    if any(m.bottlenecks for m in models):
        key.append(f"◆ diamond: has a bottleneck, {BOTTLENECK_DEFINITION}")
    paragraphs = [
        f"Each mark is a network: what it uses, and its {metric} on {where} Vertical lines are the "
        f"limits.{scale}",
        f"{'; '.join(key)}.",
    ]
    if result.reference_scores:
        paragraphs.append(_describe_references(result))
    if n_unnamed:
        networks = format_count(n_unnamed, "network")
        paragraphs.append(f"There was no place for the name of {networks}; see the table.")
    return paragraphs


def _describe_references(result: TradeoffResult) -> str:
    scores = result.reference_scores
    values = [f"{n} {format_value(result, s.value)}" for n, s in scores.items()][:MAX_REFERENCES]
    text = (
        f"For comparison: {join_words(values)}; a dashed line is such a value, an arrow points to "
        "one outside. Trivial is the best prediction without looking at a row."
    )
    if TEACHER in scores:
        text += " The teacher is one for all limits, and has none."
    if TREES not in scores:
        return text
    equal = [m for m in result.models if result.is_as_good(result.score(m), scores[TREES])]
    reached = (
        f"{format_network(min(equal, key=result.used))} is the cheapest network within their "
        "interval, or better."
        if equal
        else "no network comes within their interval."
    )
    return f"{text} Boosted trees have no limit; {reached}"
