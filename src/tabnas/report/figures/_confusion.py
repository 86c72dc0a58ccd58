"""The confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.formatting import format_count, format_percent, isolate, shorten, text_width, truncate
from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.results import Confusion, RunResult

MAX_NUMBERED = 12
"""With more classes, counts do not fit into their cells."""
MAX_LISTED = 10
LEFT, TOP = 92.0, 26.0
MAX_NAME_WIDTH, MAX_VERTICAL_WIDTH = 13, 10
LETTER_WIDTH = 6.5
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.8)
"""The shares of a row at which the shade changes."""


def draw_confusion(result: RunResult) -> Figure:
    """Draw the confusion matrix, shaded by the share of each row."""
    title = "Which classes are confused"
    confusion = result.diagnostics and result.diagnostics.confusion
    if not result.diagnostics or not confusion:
        why = "No rows were held out to count mistakes on."
        return Figure(key="confusion", title=title, paragraphs=[why])
    names = [shorten(name) for name in confusion.names]
    mistakes = _list_mistakes(confusion, names)
    rows = [[isolate(true), isolate(predicted), f"{n:,}"] for n, true, predicted in mistakes]
    table = Table(
        title="The most frequent mistakes",
        headings=["True", "Predicted", "Rows"],
        rows=rows[:MAX_LISTED],
    )
    where = f"On {result.diagnostics.rows:,} {result.diagnostics.split} rows."
    return Figure(
        key="confusion",
        title=title,
        paragraphs=[
            f"{where} Each row is a true class, each column a predicted one; the shade is the "
            "share of the row. A perfect model has all rows on the diagonal.",
            *_describe_mistakes(confusion, names, mistakes),
        ],
        drawings=[_draw(confusion, names, title)],
        table=table if rows else None,
    )


def _describe_mistakes(
    confusion: Confusion, names: Sequence[str], mistakes: Sequence[tuple[int, str, str]]
) -> list[str]:
    paragraphs = []
    total = sum(map(sum, confusion.counts))
    if mistakes:
        single = [m for m in mistakes if not confusion.pooled_classes or names[-1] not in m[1:]]
        count, true, predicted = (single or mistakes)[0]
        most = f"Most often {isolate(true)} is taken for {isolate(predicted)}: {count:,} times."
        paragraphs.append(most if count > 1 else "No mistake occurs more than once.")
    elif total:
        paragraphs.append("There is no mistake among them.")
    if confusion.pooled_classes:
        pooled = format_count(confusion.pooled_classes, "rarest class", "rarest classes")
        paragraphs.append(
            f"The {pooled} are drawn as one; their cell on the diagonal also has mistakes among "
            "themselves."
        )
    elif total:
        correct = sum(row[k] for k, row in enumerate(confusion.counts))
        share = format_percent(correct / total)
        paragraphs.append(f"{correct:,} of {total:,} are correct ({share}).")
    return paragraphs


def _draw(confusion: Confusion, names: Sequence[str], title: str) -> Drawing:
    size = len(names)
    cell = min(60.0, (WIDTH - LEFT) / size)
    widest = max(map(text_width, names))
    is_vertical = widest * LETTER_WIDTH > cell
    foot = (min(MAX_VERTICAL_WIDTH, widest) if is_vertical else 3) * LETTER_WIDTH
    about = f"{format_count(size, 'class', 'classes')}; correct predictions are on the diagonal."
    drawing = Drawing(WIDTH, TOP + size * cell + 10 + foot, title, about)
    drawing.text(0, 14, "true", "tick")
    drawing.text(LEFT, 14, "predicted", "tick")
    base = TOP + size * cell
    for k, name in enumerate(names):
        middle = (k + 0.5) * cell
        short = truncate(name, MAX_NAME_WIDTH)
        drawing.text(LEFT - 6, TOP + middle + 4, short, "small", "end")
        _draw_row(drawing, confusion, names, k, cell)
        if is_vertical:
            short = truncate(name, MAX_VERTICAL_WIDTH)
            drawing.vertical_text(LEFT + middle + 3.5, base + 6, short, "small")
        else:
            drawing.text(LEFT + middle, base + 14, name, "small", "middle")
    return drawing


def _draw_row(
    drawing: Drawing, confusion: Confusion, names: Sequence[str], row: int, cell: float
) -> None:
    counts = confusion.counts[row]
    total = sum(counts)
    true = isolate(names[row])
    for column, count in enumerate(counts):
        share = count / total if total else 0.0
        level = sum(share > bound for bound in LEVELS)
        x, y = LEFT + column * cell, TOP + row * cell
        what = "correct" if row == column else f"taken for {isolate(names[column])}"
        tooltip = f"{true} {what}: {count:,} ({format_percent(share)})" if count else ""
        drawing.begin_group("high" if level >= 5 else "low")
        drawing.rect(x, y, cell - 1, cell - 1, f"heat{level}", tooltip)
        if count and len(names) <= MAX_NUMBERED:
            text = f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
            drawing.text(x + (cell - 1) / 2, y + cell / 2 + 3.5, text, "cell", "middle")
        drawing.end_group()


def _list_mistakes(confusion: Confusion, names: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return rows, true class and predicted class, the most frequent mistake first."""
    mistakes = [
        (count, names[i], names[j])
        for i, row in enumerate(confusion.counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return sorted(mistakes, key=lambda mistake: -mistake[0])
