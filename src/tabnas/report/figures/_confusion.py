"""Which classes are taken for which."""

from __future__ import annotations

from tabnas.report._chart import WIDTH
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.report._trust import Confusion
from tabnas.report._words import counted, cut, isolated, percent, text_width

MOST_NUMBERED = 12
"""Classes up to which the numbers fit into their squares."""
MOST_LISTED = 10
LEFT, TOP = 92.0, 26.0
LONGEST = 13
TURNED = 10
LETTER = 6.5  # about as wide
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.8)


def confusion(facts: RunFacts) -> Figure:
    """True classes down, predicted classes across, shaded by the share of the true class."""
    title = "Which classes are taken for which"
    found = facts.diagnostics and facts.diagnostics.confusion
    if not facts.diagnostics or not found:
        return Figure(
            key="confusion", title=title, words=["No rows were kept to count mistakes on."]
        )
    size = len(found.names)
    right = sum(found.counts[k][k] for k in range(size - bool(found.pooled)))
    total = sum(map(sum, found.counts))
    about = f"{counted(size, 'class', 'classes')}; the diagonal holds what is right."
    cell = min(60.0, (WIDTH - LEFT) / size)
    longest = min(TURNED, max(map(text_width, found.names))) if _turned(found, cell) else 3
    drawing = Drawing(WIDTH, TOP + size * cell + 10 + longest * LETTER, title, about)
    drawing.text(0, 14, "true", "tick")
    drawing.text(LEFT, 14, "predicted", "tick")
    for k, name in enumerate(found.names):
        drawing.text(LEFT - 6, TOP + (k + 0.5) * cell + 4, cut(name, LONGEST), "small", "end")
        _cells(drawing, found, k, cell)
    _numbers_below(drawing, found, cell)
    words = [
        f"On {facts.diagnostics.count:,} {facts.diagnostics.rows} rows. Each line is a true "
        "class, each column what the model said; the shade is the share of the line. All on "
        "the diagonal would be perfect.",
    ]
    wrong = _mistakes(found)
    if wrong:
        named = [one for one in wrong if found.names[-1] not in one[1:]] if found.pooled else wrong
        count, true, said = (named or wrong)[0]
        often = f"Most often {isolated(true)} is taken for {isolated(said)}: {count:,} times."
        words.append(often if count > 1 else "No mistake occurs more than once.")
    elif total:
        words.append("There is no mistake among them.")
    if found.pooled:
        words.append(
            f"The {counted(found.pooled, 'rarest class', 'rarest classes')} are drawn as one; "
            "their square on the diagonal also holds mistakes among themselves."
        )
    elif total:
        words.append(f"{right:,} of {total:,} are right ({percent(right / total)}).")
    rows = [[isolated(t), isolated(s), f"{n:,}"] for n, t, s in wrong[:MOST_LISTED]]
    table = Table(
        title="The most frequent mistakes", headings=["True", "Predicted", "Rows"], rows=rows
    )
    return Figure(
        key="confusion",
        title=title,
        words=words,
        drawings=[drawing],
        table=table if rows else None,
    )


def _cells(drawing: Drawing, found: Confusion, row: int, cell: float) -> None:
    counts = found.counts[row]
    total = sum(counts)
    true = isolated(found.names[row])
    for column, count in enumerate(counts):
        share = count / total if total else 0.0
        level = sum(share > bound for bound in LEVELS)
        x, y = LEFT + column * cell, TOP + row * cell
        hint = ""
        if count:
            said = isolated(found.names[column])
            hint = f"{true} taken for {said}: {count:,} ({percent(share)})"
            hint = f"{true} found: {count:,} ({percent(share)})" if row == column else hint
        drawing.begin("high" if level >= 5 else "low")
        drawing.rect(x, y, cell - 1, cell - 1, f"heat{level}", hint)
        if count and len(found.names) <= MOST_NUMBERED:
            shown = f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
            drawing.text(x + (cell - 1) / 2, y + cell / 2 + 3.5, shown, "cell", "middle")
        drawing.end()


def _numbers_below(drawing: Drawing, found: Confusion, cell: float) -> None:
    """Names of the columns, turned where they are too long for their column."""
    base = TOP + len(found.names) * cell
    for k, name in enumerate(found.names):
        middle = LEFT + (k + 0.5) * cell
        if _turned(found, cell):
            drawing.upwards(middle + 3.5, base + 6, cut(name, TURNED), "small")
        else:
            drawing.text(middle, base + 14, name, "small", "middle")


def _turned(found: Confusion, cell: float) -> bool:
    return max(map(text_width, found.names)) * LETTER > cell


def _mistakes(found: Confusion) -> list[tuple[int, str, str]]:
    """Rows, true class and predicted class, the most frequent first."""
    wrong = [
        (count, found.names[i], found.names[j])
        for i, row in enumerate(found.counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return sorted(wrong, key=lambda one: -one[0])
