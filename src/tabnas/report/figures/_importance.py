"""The permutation importance of the columns."""

from __future__ import annotations

from math import isfinite

from tabnas.formatting import (
    PERCENT_METRICS,
    format_count,
    format_number,
    greater_is_better,
    isolate,
    metric_label,
    truncate,
)
from tabnas.report._chart import WIDTH, Scale, tick_labels
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.results import ColumnImportance, RunResult

MAX_SHOWN = 30
ROW_HEIGHT = 18.0
LEFT, RIGHT, TOP = 136.0, WIDTH - 8.0, 8.0
MAX_NAME_WIDTH = 20


def draw_importance(result: RunResult) -> Figure:
    """Draw a bar for each column: how much worse the metric gets when it is shuffled."""
    title = "Columns the model relies on"
    diagnostics = result.diagnostics
    importance = diagnostics and diagnostics.importance
    columns = importance.sorted_columns if importance else []
    columns = [item for item in columns if isfinite(item[1].increase) and isfinite(item[1].std)]
    if not diagnostics or not importance or not columns:
        why = "No rows were held out to measure how much each column matters."
        return Figure(key="importance", title=title, paragraphs=[why])
    change = "falls" if greater_is_better(result.metric) else "rises"
    metric = metric_label(result.metric)
    paragraphs = [
        f"The values of a column are shuffled among {format_count(importance.rows, 'row')} of the "
        f"{diagnostics.split} rows, and the bar is by how much the {metric} {change} then. Thin "
        f"lines are the standard deviation of {format_count(importance.repeats, 'shuffle')}; a bar "
        "no longer than its line may be chance.",
        "Columns with the same information replace one another, so each seems less important than "
        "both together. This is about the model, not about causes.",
    ]
    if len(columns) > MAX_SHOWN:
        paragraphs.append(f"Drawn are the {MAX_SHOWN} most important of {len(columns):,} columns.")
    drawing = _draw(columns[:MAX_SHOWN], title, f"{metric} {change} by", result.metric)
    return Figure(key="importance", title=title, paragraphs=paragraphs, drawings=[drawing])


def _draw(
    columns: list[tuple[str, ColumnImportance]], title: str, label: str, metric: str
) -> Drawing:
    ends = [
        importance.increase + sign * importance.std for _, importance in columns for sign in (-1, 1)
    ]
    x = Scale.from_values([0.0, *ends], LEFT, RIGHT, margin=0.02)
    bottom = TOP + ROW_HEIGHT * len(columns)
    first = [f"{name} {format_number(importance.increase)}" for name, importance in columns[:3]]
    drawing = Drawing(WIDTH, bottom + 40, title, f"Most important: {', '.join(first)}")
    for at, text in tick_labels(x, 4, percent=metric in PERCENT_METRICS):
        drawing.line(at, TOP, at, bottom, "grid")
        drawing.text(at, bottom + 15, text, "tick", "middle")
    for k, (name, importance) in enumerate(columns):
        middle = TOP + (k + 0.5) * ROW_HEIGHT
        left, right = sorted((x(0.0), x(importance.increase)))
        increase, std = format_number(importance.increase), format_number(importance.std)
        tooltip = f"{isolate(name)}: {increase} ± {std}"
        drawing.text(LEFT - 8, middle + 4, truncate(name, MAX_NAME_WIDTH), "label", "end")
        drawing.rect(left, middle - 5, max(1.0, right - left), 10, "main", tooltip)
        low, high = x(importance.increase - importance.std), x(importance.increase + importance.std)
        drawing.line(low, middle, high, middle, "whisker")
    drawing.line(x(0.0), TOP, x(0.0), bottom, "axis")
    drawing.text(RIGHT, bottom + 32, label, "label", "end")
    return drawing
