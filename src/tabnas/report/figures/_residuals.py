"""The errors of a regression."""

from __future__ import annotations

from math import isfinite

from tabnas.formatting import format_count, format_number, format_percent
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.results import Histogram, Residuals, RunResult

LEFT, RIGHT, TOP = 58.0, WIDTH - 14.0, 30.0
SQUARE, FLAT = TOP + RIGHT - LEFT, 170.0


def draw_residuals(result: RunResult) -> Figure:
    """Draw predictions against true values, and the distribution of the errors."""
    title = "How far predictions are off"
    diagnostics = result.diagnostics
    residuals = diagnostics and diagnostics.residuals
    if not diagnostics or not residuals:
        why = "No rows were held out to measure errors on."
        return Figure(key="residuals", title=title, paragraphs=[why])
    n_drawn = len(residuals.y_true)
    sample = f" {format_count(n_drawn, 'row')} drawn at random are shown."
    drawings = [_draw_scatter(residuals), _draw_histogram(residuals.histogram)]
    return Figure(
        key="residuals",
        title=title,
        paragraphs=[
            f"On {diagnostics.rows:,} {diagnostics.split} rows. Above: true values across, "
            "predictions upwards; on the diagonal both are equal."
            + (sample if n_drawn < diagnostics.rows else ""),
            "Below: true value - prediction. Outliers are counted in the outermost bars.",
            *_describe_spread(residuals),
        ],
        drawings=[drawing for drawing in drawings if drawing is not None],
    )


def _draw_scatter(residuals: Residuals) -> Drawing | None:
    pairs = [
        pair
        for pair in zip(residuals.y_true, residuals.y_pred, strict=True)
        if all(map(isfinite, pair))
    ]
    if not pairs:
        return None
    values = [value for pair in pairs for value in pair]
    x, y = Scale.from_values(values, LEFT, RIGHT), Scale.from_values(values, SQUARE, TOP)
    about = f"{format_count(len(pairs), 'row')}; the closer to the diagonal, the better."
    drawing = Drawing(WIDTH, SQUARE + 44, "Predictions against true values", about)
    draw_axes(drawing, x, y, "true value", "prediction")
    drawing.line(x(x.low), y(x.low), x(x.high), y(x.high), "guide")
    for true, predicted in pairs:
        drawing.circle(x(true), y(predicted), 2.2, "dot")
    return drawing


def _draw_histogram(histogram: Histogram) -> Drawing | None:
    edges, counts = histogram.edges, histogram.counts
    if not counts or not all(map(isfinite, edges)):
        return None
    x = Scale.from_values(edges, LEFT, RIGHT)
    y = Scale(0.0, 1.05 * max(1, *counts), FLAT, TOP)
    about = f"{format_count(sum(counts), 'row')} in {format_count(len(counts), 'bar')}."
    drawing = Drawing(WIDTH, FLAT + 44, "Distribution of errors", about)
    draw_axes(drawing, x, y, "true value - prediction", "rows")
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        tooltip = f"{format_number(low)} to {format_number(high)}: {format_count(count, 'row')}"
        drawing.rect(x(low), y(count), x(high) - x(low) - 0.7, FLAT - y(count), "main", tooltip)
    if x.contains(0.0):
        drawing.line(x(0.0), TOP, x(0.0), FLAT, "guide")
    return drawing


def _describe_spread(residuals: Residuals) -> list[str]:
    """Return where half and nearly all of the errors lie."""
    quantiles = residuals.quantiles_by_level
    parts = [
        f"{format_percent(high - low)} of the errors lie between {format_number(quantiles[low])} "
        f"and {format_number(quantiles[high])}"
        for low, high in ((0.25, 0.75), (0.025, 0.975))
        if low in quantiles and high in quantiles
    ]
    return ["; ".join(parts) + "."] if parts else []
