"""How far predictions of a quantity are off."""

from __future__ import annotations

from math import isfinite

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._trust import Residuals
from tabnas.report._words import counted, number, percent

LEFT, RIGHT, TOP = 58.0, WIDTH - 14.0, 30.0
SQUARE, FLAT = TOP + RIGHT - LEFT, 170.0


def residuals(facts: RunFacts) -> Figure:
    """Predictions against the truth, and the distribution of what lies between."""
    title = "How far predictions are off"
    found = facts.diagnostics and facts.diagnostics.residuals
    if not facts.diagnostics or not found:
        return Figure(key="residuals", title=title, words=["No rows were kept to judge errors on."])
    drawings = [d for d in (_scatter(found), _histogram(found)) if d is not None]
    words = [
        f"On {facts.diagnostics.count:,} {facts.diagnostics.rows} rows. Above: the truth across, "
        "the prediction upwards; on the diagonal both are equal."
        + (
            f" {counted(len(found.truth), 'row')} drawn at random are shown."
            if len(found.truth) < facts.diagnostics.count
            else ""
        ),
        "Below: truth less prediction. What is far out counts in the outermost bars.",
        *_spread(found),
    ]
    return Figure(key="residuals", title=title, words=words, drawings=drawings)


def _scatter(found: Residuals) -> Drawing | None:
    pairs = [
        pair for pair in zip(found.truth, found.prediction, strict=True) if all(map(isfinite, pair))
    ]
    if not pairs:
        return None
    values = [value for pair in pairs for value in pair]
    x, y = Scale.over(values, LEFT, RIGHT), Scale.over(values, SQUARE, TOP)
    about = f"{counted(len(pairs), 'row')}; the closer to the diagonal, the better."
    drawing = Drawing(WIDTH, SQUARE + 44, "Prediction against truth", about)
    axes(drawing, x, y, "truth", "prediction")
    drawing.line(x(x.low), y(x.low), x(x.high), y(x.high), "guide")
    for truth, said in pairs:
        drawing.circle(x(truth), y(said), 2.2, "dot")
    return drawing


def _histogram(found: Residuals) -> Drawing | None:
    if not found.counts or not all(map(isfinite, found.edges)):
        return None
    x = Scale.over(found.edges, LEFT, RIGHT)
    y = Scale(0.0, 1.05 * max(1, *found.counts), FLAT, TOP)
    about = f"{counted(sum(found.counts), 'row')} in {counted(len(found.counts), 'bar')}."
    drawing = Drawing(WIDTH, FLAT + 44, "Distribution of errors", about)
    axes(drawing, x, y, "truth less prediction", "rows")
    for k, count in enumerate(found.counts):
        low, high = found.edges[k], found.edges[k + 1]
        hint = f"{number(low)} to {number(high)}: {counted(count, 'row')}"
        drawing.rect(x(low), y(count), x(high) - x(low) - 0.7, FLAT - y(count), "main", hint)
    if x.holds(0.0):
        drawing.line(x(0.0), TOP, x(0.0), FLAT, "guide")
    return drawing


def _spread(found: Residuals) -> list[str]:
    """Where the middle half and nearly all errors lie."""
    known = {share: value for share, value in found.quantiles if isfinite(value)}
    said = []
    for low, high in ((0.25, 0.75), (0.025, 0.975)):
        if low in known and high in known:
            said.append(
                f"{percent(high - low)} of the errors lie between {number(known[low])} and "
                f"{number(known[high])}"
            )
    return ["; ".join(said) + "."] if said else []
