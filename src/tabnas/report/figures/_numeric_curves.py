"""The learned curves of numeric embeddings: how the model reads the most important numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tabnas.formatting import format_count, format_number, isolate, join_words, text_width, truncate
from tabnas.report._chart import WIDTH, Scale
from tabnas.report._figure import Figure
from tabnas.report._labels import LETTER_WIDTH
from tabnas.report._svg import Anchor, Drawing
from tabnas.results import NumericCurve, RunResult

COLUMNS, GAP = 2, 26.0
LEGEND_HEIGHT = 26.0
HEAD, HEIGHT, FOOT = 24.0, 92.0, 34.0
"""The heights of the title, the lines and the axis of a panel."""
TICK, LONG_TICK = 4.0, 7.0
MAX_NAME_WIDTH = 27
MAX_LABELS, MIN_LABEL_GAP = 4, 6.0
DAY, HOUR = 86_400.0, 3_600.0
MIN_DATE_SPAN = 4 * DAY
"""Times that span less are written with their hours."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ORDINALS = ("first", "second", "third", "fourth")


def draw_numeric_curves(result: RunResult) -> list[Figure]:
    """Draw the curves in small panels; return no figure if the model embeds no numbers."""
    curves = result.numeric_curves
    if not curves:
        return []
    title = "How the model reads numbers"
    rows = -(-len(curves) // COLUMNS)
    panel = HEAD + HEIGHT + FOOT
    names = join_words([curve.feature for curve in curves])
    about = f"What was learned for {names}, one line for each dimension."
    drawing = Drawing(WIDTH, LEGEND_HEIGHT + rows * panel, title, about)
    _draw_legend(drawing, max(len(curve.outputs) for curve in curves))
    width = (WIDTH - (COLUMNS - 1) * GAP) / COLUMNS
    for k, curve in enumerate(curves):
        left, top = (k % COLUMNS) * (width + GAP), LEGEND_HEIGHT + (k // COLUMNS) * panel
        _draw_panel(drawing, curve, left, top, width)
    paragraphs = _describe(result)
    return [Figure(key="curves", title=title, paragraphs=paragraphs, drawings=[drawing])]


def _draw_legend(drawing: Drawing, dimensions: int) -> None:
    if dimensions == 1:
        drawing.line(0, 10, 22, 10, "curve1")
        drawing.text(28, 14, "the learned number", "small")
        return
    for k in range(dimensions):
        left = k * WIDTH / dimensions
        drawing.line(left, 10, left + 22, 10, f"curve{k + 1}")
        name = ORDINALS[k % len(ORDINALS)]
        drawing.text(left + 28, 14, name if dimensions > 2 else f"{name} number", "small")


def _draw_panel(
    drawing: Drawing, curve: NumericCurve, left: float, top: float, width: float
) -> None:
    bottom = top + HEAD + HEIGHT
    values = [value for row in curve.outputs for value in row]
    y = Scale.from_values(values, bottom - 6, top + HEAD, margin=0.04)
    drawing.text(left, top + 14, truncate(curve.feature, MAX_NAME_WIDTH), "strong")
    if y.contains(0.0):
        drawing.line(left, y(0.0), left + width, y(0.0), "grid")
    drawing.line(left, bottom, left + width, bottom, "axis")
    last = len(curve.knots) - 1
    places = [left + width * k / last for k in range(last + 1)]
    drawing.bars([(at - 0.4, bottom, 0.8, TICK) for at in places], "muted-fill")
    for k, row in reversed(list(enumerate(curve.outputs, start=1))):
        points = [(at, y(value)) for at, value in zip(places, row, strict=True)]
        drawing.polyline(points, f"curve{k}")
    labels = format_knots(curve)
    _draw_tooltips(drawing, curve, labels, places, top + HEAD, bottom + LONG_TICK)
    for k, anchor in _choose_labels(places, labels):
        drawing.bars([(places[k] - 0.6, bottom, 1.2, LONG_TICK)], "muted-fill")
        drawing.text(places[k], bottom + LONG_TICK + 12, labels[k], "small", anchor)


def _draw_tooltips(
    drawing: Drawing,
    curve: NumericCurve,
    labels: list[str],
    places: list[float],
    top: float,
    bottom: float,
) -> None:
    """Cover the panel with strips, one around each knot, that name its value and outputs."""
    borders = [places[0], *((a + b) / 2 for a, b in pairwise(places))]
    borders.append(places[-1])
    for k, label in enumerate(labels):
        outputs = join_words([format_number(row[k]) for row in curve.outputs])
        tooltip = f"{isolate(curve.feature)} {label}: read as {outputs}"
        start, end = borders[k], borders[k + 1]
        drawing.rect(start, top, end - start, bottom - top, "hit", tooltip)


def _choose_labels(places: list[float], labels: list[str]) -> list[tuple[int, Anchor]]:
    """Return the knots whose values are written, evenly spaced: as many as have room."""
    last = len(labels) - 1
    widest = max(text_width(label) for label in labels) * LETTER_WIDTH + MIN_LABEL_GAP
    count = min(MAX_LABELS, last + 1, 1 + int((places[-1] - places[0]) / widest))
    inner = {round(last * k / (count - 1)) for k in range(1, count - 1)} if count > 2 else set()
    middle: list[tuple[int, Anchor]] = [(k, "middle") for k in sorted(inner)]
    return [(0, "start"), *middle, (last, "end")]


def format_knots(curve: NumericCurve) -> list[str]:
    """Return the values of the knots as texts: numbers, or dates."""
    if curve.unit == "number":
        return [_format_number(value) for value in curve.knots]
    with_hours = curve.knots[-1] - curve.knots[0] < MIN_DATE_SPAN
    return [_format_time(seconds, with_hours=with_hours) for seconds in curve.knots]


def _format_number(value: float) -> str:
    """Format a number of three digits, without zeros at its end: 0.5, 15, -119."""
    text = format_number(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _format_time(seconds: float, *, with_hours: bool) -> str:
    """Format seconds since 1970, which are not exact; beyond the calendar, as a number."""
    unit = 60.0 if with_hours else HOUR
    try:
        time = EPOCH + timedelta(seconds=round(seconds / unit) * unit)
    except OverflowError:
        return f"{format_number(seconds)} s"
    return f"{time:%d %b %H:%M}" if with_hours else f"{time.date()}"


def _describe(result: RunResult) -> list[str]:
    curves, plan = result.numeric_curves, result.plan
    dimension = result.architecture.dimension
    numbers = format_count(dimension, "learned number")
    columns = format_count(plan.embedded_columns, "numeric column")
    which = f"each of {columns}" if plan.embedded_columns > 1 else "the numeric column"
    drawn = len(curves[0].outputs)
    lines = "one line each" if dimension > 1 else "the line"
    if drawn < dimension:
        lines = f"of which the first {drawn} are drawn"
    paragraphs = [
        f"Besides its value, {which} is read as {numbers} ({lines}), which the first layer gets as "
        "inputs. They were learned at knots, the small ticks; between two knots they lie on a "
        "straight line. Knots are drawn at equal distances, so that ranges with many rows have "
        "most of the room. Point at a panel to read a knot.",
        "Where a line is steep, values that are close together are told apart; where it is flat, "
        "they are read alike. Height and sign mean nothing by themselves, since the next layer "
        "weighs them, and every panel has its own height.",
    ]
    if len(curves) < plan.embedded_columns:
        importance = result.diagnostics and result.diagnostics.importance
        first = f"{len(curves)} most important" if importance else f"first {len(curves)}"
        paragraphs.append(f"Drawn are the {first} of {columns}.")
    return paragraphs
