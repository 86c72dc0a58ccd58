"""Whether probabilities mean what they say."""

from __future__ import annotations

from math import isfinite

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.report._trust import Bin
from tabnas.report._words import counted, isolated, percent

LEFT, RIGHT, TOP, BOTTOM = 52.0, WIDTH - 14.0, 30.0, 270.0
COUNTS = 54.0  # height of the bars beneath that say how many rows there are


def reliability(facts: RunFacts) -> Figure:
    """Predicted probability across, what happened upwards, and how many rows that is."""
    title = "Do probabilities mean what they say?"
    found = facts.diagnostics and facts.diagnostics.reliability
    bins = [one for one in found.bins if _drawable(one)] if found else []
    if not facts.diagnostics or not found or not bins:
        why = "No rows were kept to judge probabilities on."
        return Figure(key="reliability", title=title, words=[why])
    x, y = Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, 1.0, BOTTOM, TOP)
    about = f"{counted(len(bins), 'group')} of rows; mean distance {percent(found.gap)}."
    drawing = Drawing(WIDTH, BOTTOM + 50 + COUNTS, title, about)
    across, up = "predicted probability", "how often it happened"
    axes(drawing, x, y, across, up, percent=(True, True))
    drawing.line(x(0), y(0), x(1), y(1), "guide")
    most = max(one.rows for one in bins)
    base = BOTTOM + 46 + COUNTS
    drawing.text(2, base - COUNTS + 12, "rows", "tick")
    for one in bins:
        middle = x(one.probability)
        drawing.line(middle, y(one.share_low), middle, y(one.share_high), "main-line")
        drawing.circle(middle, y(one.share), 4.5, "main", _said(one))
        height = (COUNTS - 8) * one.rows / most
        drawing.rect(middle - 6, base - height, 12, height, "muted-fill", _said(one))
    drawing.line(LEFT, base, RIGHT, base, "axis")
    of = "the class it thinks likeliest"
    if found.of == "second class":
        of = isolated(facts.classes[1]) if len(facts.classes) > 1 else "the second class"
    return Figure(
        key="reliability",
        title=title,
        words=[
            f"Rows of the {facts.diagnostics.rows} part are grouped by the probability that the "
            f"model gives to {of}. On the diagonal, what is given 80 % happens 80 times of "
            "100; below it the model is too sure of itself. Lines are 95 % intervals, the "
            "bars beneath say how many rows each group has.",
            f"On average a row's probability is {percent(found.gap)} off what happened.",
            "Before that, one temperature was fitted on rows held out, so that probabilities fit.",
        ],
        drawings=[drawing],
        table=Table(
            title="Groups in numbers",
            headings=["Predicted", "Happened", "95 % interval", "Rows"],
            rows=[
                [
                    percent(one.probability),
                    percent(one.share),
                    f"{percent(one.share_low)} to {percent(one.share_high)}",
                    f"{one.rows:,}",
                ]
                for one in bins
            ],
        ),
    )


def _drawable(one: Bin) -> bool:
    values = (one.probability, one.share, one.share_low, one.share_high)
    return one.rows > 0 and all(isfinite(value) and 0 <= value <= 1 for value in values)


def _said(one: Bin) -> str:
    happened = f"{percent(one.share)} of {counted(one.rows, 'row')}"
    return f"predicted {percent(one.probability)}, happened in {happened}"
