"""What the search preferred, layer by layer, over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import log

from tabnas.report._chart import WIDTH
from tabnas.report._facts import RunFacts, Snapshot
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._words import counted, percent

SHADES = 8
ROUND = (
    *(0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05),
    *(0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
)
"""Probabilities at which a shade may change."""
LEFT, RIGHT = 44.0, WIDTH - 46.0
HEAD = 26
FOOT = 26
TALLEST_ROW, TALLEST = 10.0, 220.0
LOWEST_LABEL = 9.5
MOST_SHOWN = 4
MOST_DRAWN = 40
FEW_LAYERS, MANY_COLUMNS, FEW_COLUMNS = 6, 100, 40


def heat_maps(facts: RunFacts) -> Figure:
    """Time to the right, widths upwards, the darker the likelier."""
    title = "What the search preferred"
    widths = facts.plan.widths[:MOST_DRAWN]
    fitting = [s for s in facts.history if _fits(s, facts.plan.widths)]
    if not fitting or not widths:
        why = "There is no record of the search, so its course cannot be drawn."
        return Figure(key="preferences", title=title, words=[why])
    most = MANY_COLUMNS if len(widths) <= FEW_LAYERS else FEW_COLUMNS
    snapshots = fitting[:: -(-len(fitting) // most)]
    levels = shade_levels(snapshots)
    drawings = [
        _layer(snapshots, levels, k, layer, facts.widths[k] if k < len(facts.widths) else 0)
        for k, layer in enumerate(widths)
    ]
    shown, folded = drawings[:MOST_SHOWN], drawings[MOST_SHOWN:]
    return Figure(
        key="preferences",
        title=title,
        words=_words(facts, snapshots),
        drawings=[*shown, _legend(levels)],
        more=folded,
        more_title=f"{counted(len(folded), 'further layer')}",
    )


def _fits(snapshot: Snapshot, widths: Sequence[Sequence[int]]) -> bool:
    found = [len(layer) for layer in snapshot.probabilities]
    return found == [len(layer) for layer in widths]


def shade_levels(snapshots: Sequence[Snapshot]) -> list[float]:
    """Round probabilities, in about equal ratios, between what is seldom and what is likeliest."""
    layers = snapshots[0].probabilities
    uniform = 1 / max(1, *map(len, layers))
    most = max((p for s in snapshots for layer in s.probabilities for p in layer), default=1.0)
    low, high = uniform / 3, max(0.85 * min(most, 1.0), 2 * uniform)
    levels: list[float] = []
    for k in range(SHADES - 1):
        wanted = low * (high / low) ** (k / (SHADES - 2))
        larger = [value for value in ROUND if not levels or value > levels[-1]] or [1.0]
        levels.append(min(larger, key=lambda value: abs(log(value / wanted))))
    return levels


def _layer(
    snapshots: Sequence[Snapshot],
    bounds: Sequence[float],
    k: int,
    widths: Sequence[int],
    chosen: int,
) -> Drawing:
    row = min(TALLEST_ROW, TALLEST / max(1, len(widths)))
    bottom = HEAD + row * len(widths)
    taken = f"width {chosen}" if chosen else "left out"
    last = snapshots[-1].probabilities[k]
    likeliest = max(range(len(widths)), key=lambda j: last[j], default=0)
    about = f"In the end the likeliest width is {widths[likeliest]}; the model has {taken}."
    drawing = Drawing(WIDTH, bottom + FOOT, f"Layer {k + 1}: probability of widths", about)
    drawing.text(0, 15, f"layer {k + 1}", "strong")
    drawing.text(WIDTH, 15, f"chosen: {taken}", "label", "end")
    drawing.rect(LEFT, HEAD, RIGHT - LEFT, bottom - HEAD, "heat0")
    column = (RIGHT - LEFT) / len(snapshots)
    shades: list[list[tuple[float, float, float, float]]] = [[] for _ in range(SHADES)]
    for j in range(len(widths)):
        levels = [bisect_right(bounds, s.probabilities[k][j]) for s in snapshots]
        for start, end, level in _runs(levels):
            box = (LEFT + start * column, bottom - (j + 1) * row, (end - start) * column, row)
            shades[level].append(box)
    for level, boxes in enumerate(shades[1:], start=1):
        drawing.bars(boxes, f"heat{level}")
    every = max(1, round(LOWEST_LABEL / row + 0.4))
    for j, width in enumerate(widths):
        base = bottom - (j + 0.5) * row + 3.5
        if width == chosen:
            drawing.text(RIGHT + 5, base, f"◂ {width or 'none'}", "small-strong")
        if j % every == 0:
            drawing.text(LEFT - 5, base, f"{width:,}" if width else "none", "small", "end")
    for share in (0.0, 0.5, 1.0):
        x = LEFT + share * (RIGHT - LEFT)
        drawing.text(x, bottom + 15, f"{share:.0%}".replace("%", " %"), "small", "middle")
    return drawing


def _runs(levels: Sequence[int]) -> list[tuple[int, int, int]]:
    """Stretches (start, end, level) of the same level, without the lowest."""
    runs: list[tuple[int, int, int]] = []
    start = 0
    for k in range(1, len(levels) + 1):
        if k == len(levels) or levels[k] != levels[start]:
            if levels[start]:
                runs.append((start, k, levels[start]))
            start = k
    return runs


def _legend(levels: Sequence[float]) -> Drawing:
    drawing = Drawing(WIDTH, 44, "Shades", _range(levels))
    box = (RIGHT - LEFT) / SHADES
    for level in range(SHADES):
        drawing.rect(LEFT + level * box, 6, box, 12, f"heat{level} edge")
    for level, bound in enumerate(levels, start=1):
        drawing.text(LEFT + level * box, 33, f"{100 * bound:g} %", "small", "middle")
    return drawing


def _range(levels: Sequence[float]) -> str:
    return f"From below {levels[0]:.2%} to above {levels[-1]:.0%}; darker is likelier."


def _words(facts: RunFacts, snapshots: Sequence[Snapshot]) -> list[str]:
    plan = facts.plan
    space = f"{counted(plan.architectures, 'network')} to choose from"
    if plan.feasible is not None:
        space += f", of which {counted(plan.feasible, 'keeps', 'keep')} every limit"
    said = [
        f"There were {space}. The search holds a probability for every width of every layer, draws "
        "networks by them, and makes those likelier that do well.",
        "From left to right the search goes on; every line is a width, and the darker it is, the "
        "likelier. The mark at the right is the width of the model.",
    ]
    frozen = [s.progress for s in snapshots if s.quality is None]
    if frozen and len(frozen) < len(snapshots):
        said.append(
            f"Up to {percent(max(frozen))} only weights are learned, and the probabilities stay as "
            "they begin."
        )
    if _disagrees(facts, snapshots[-1]):
        said.append(
            "The model's width is not the likeliest everywhere: candidates also come from the "
            "qualities that were seen, and the best of them, trained alone, became the model."
        )
    if len(facts.plan.widths) > MOST_DRAWN:
        said.append(f"Only the first {MOST_DRAWN} layers are drawn.")
    return said


def _disagrees(facts: RunFacts, last: Snapshot) -> bool:
    """Whether a layer of the model has another width than the policy's likeliest."""
    for k, (widths, chances) in enumerate(zip(facts.plan.widths, last.probabilities, strict=True)):
        chosen = facts.widths[k] if k < len(facts.widths) else 0
        if chosen in widths and chances[widths.index(chosen)] < max(chances):
            return True
    return False
