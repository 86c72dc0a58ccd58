"""Which columns the model leans on."""

from __future__ import annotations

from math import isfinite

from tabnas.report._chart import WIDTH, Scale, marked
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._words import (
    SHARES,
    counted,
    cut,
    greater_is_better,
    isolated,
    metric_words,
    number,
)

MOST_SHOWN = 30
ROW = 18.0
LEFT, RIGHT = 136.0, WIDTH - 8.0
LONGEST = 20
TOP = 8.0


def importance(facts: RunFacts) -> Figure:
    """A bar for each column: what shuffling it does to the metric."""
    title = "Columns the model leans on"
    found = facts.diagnostics and facts.diagnostics.importance
    columns = [one for one in found.columns if isfinite(one.increase)] if found else []
    if not facts.diagnostics or not found or not columns:
        why = "No rows were kept to find out how much each column matters."
        return Figure(key="importance", title=title, words=[why])
    shown = columns[:MOST_SHOWN]
    spreads = [one.deviation if isfinite(one.deviation) else 0.0 for one in shown]
    reach = [one.increase + s for one, s in zip(shown, spreads, strict=True)]
    least = [one.increase - s for one, s in zip(shown, spreads, strict=True)]
    x = Scale.over([0.0, *reach, *least], LEFT, RIGHT, margin=0.02)
    bottom = TOP + ROW * len(shown)
    about = "Most: " + ", ".join(f"{one.column} {number(one.increase)}" for one in shown[:3])
    drawing = Drawing(WIDTH, bottom + 40, title, about)
    for place, text in marked(x, 4, percent=facts.metric in SHARES):
        drawing.line(place, TOP, place, bottom, "grid")
        drawing.text(place, bottom + 15, text, "tick", "middle")
    for k, (one, spread) in enumerate(zip(shown, spreads, strict=True)):
        middle = TOP + (k + 0.5) * ROW
        left, right = sorted((x(0.0), x(one.increase)))
        hint = f"{isolated(one.column)}: {number(one.increase)} ± {number(spread)}"
        drawing.text(LEFT - 8, middle + 4, cut(one.column, LONGEST), "label", "end")
        drawing.rect(left, middle - 5, max(1.0, right - left), 10, "main", hint)
        ends = x(one.increase - spread), x(one.increase + spread)
        drawing.line(ends[0], middle, ends[1], middle, "whisker")
    drawing.line(x(0.0), TOP, x(0.0), bottom, "axis")
    change = "falls by" if greater_is_better(facts.metric) else "rises by"
    drawing.text(RIGHT, bottom + 32, f"{metric_words(facts.metric)} {change}", "label", "end")
    return Figure(
        key="importance", title=title, words=_words(facts, len(columns)), drawings=[drawing]
    )


def _words(facts: RunFacts, columns: int) -> list[str]:
    assert facts.diagnostics is not None
    assert facts.diagnostics.importance is not None
    found = facts.diagnostics.importance
    change = "falls" if greater_is_better(facts.metric) else "rises"
    said = [
        f"A column's values are shuffled among {counted(found.rows, 'row')} of the "
        f"{facts.diagnostics.rows} part, and the bar says by how much the "
        f"{metric_words(facts.metric)} {change} then. Thin lines are the spread of "
        f"{counted(found.repeats, 'shuffle')}; a bar no longer than its line may be chance.",
        "Columns that say the same stand in for one another, so that each seems to matter less "
        "than both together. It is about this model, and not about causes.",
    ]
    if columns > MOST_SHOWN:
        said.append(f"Drawn are the {MOST_SHOWN} that matter most, of {columns:,}.")
    return said
