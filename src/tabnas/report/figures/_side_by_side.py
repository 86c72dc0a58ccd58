"""The networks of a trade-off, drawn to one scale."""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure
from tabnas.report._labels import LETTER
from tabnas.report._svg import Drawing
from tabnas.report._tradeoff_facts import Member, TradeoffFacts
from tabnas.report._tradeoff_words import short
from tabnas.report._words import counted, cut, listed, number, text_width
from tabnas.space import BOTTLENECK_DEFINITION

MOST_DRAWN = 24
FEW = 4
GAP = 22.0
HEAD, TALLEST, FOOT = 40.0, 84.0, 34.0
THIN = 1.5
"""The least height that can be seen."""


def side_by_side(facts: TradeoffFacts) -> Figure:
    """For every network its layers as bars, all to the same scale."""
    groups = facts.networks[:MOST_DRAWN]
    columns = 2 if len(groups) <= FEW else 3
    rows = -(-len(groups) // columns)
    height = HEAD + TALLEST + FOOT
    about = "; ".join(_described(group) for group in groups)
    drawing = Drawing(WIDTH, rows * height, "The networks to one scale", f"{about}.")
    width = (WIDTH - (columns - 1) * GAP) / columns
    tallest = max(max(_sizes(facts, group[0])) for group in groups)
    for k, group in enumerate(groups):
        left, top = (k % columns) * (width + GAP), (k // columns) * height
        _network(drawing, facts, group, left, top, width, TALLEST / max(1, tallest))
    return Figure(
        key="networks-drawn",
        title="The networks, side by side",
        words=_words(facts),
        drawings=[drawing],
    )


def _network(
    drawing: Drawing,
    facts: TradeoffFacts,
    group: Sequence[Member],
    left: float,
    top: float,
    width: float,
    unit: float,
) -> None:
    member = group[0]
    sizes = _sizes(facts, member)
    ends = facts.inputs is not None
    longest = int(width / LETTER)
    limits = _limits(group) if text_width(_limits(group)) <= longest else _limits(group[-1:])
    drawing.text(left, top + 14, limits, "tick")
    drawing.text(left, top + 30, cut(member.architecture, longest), "strong")
    bar = max(1.0, min(10.0, 0.4 * width / len(sizes)))
    step = (width - bar) / max(1, len(sizes) - 1)
    places = [left + k * step for k in range(len(sizes))]
    heights = [max(THIN, size * unit) for size in sizes]
    middle = top + HEAD + TALLEST / 2
    for k in range(len(sizes) - 1):
        a, b = heights[k] / 2, heights[k + 1] / 2
        near, far = places[k] + bar, places[k + 1]
        outline = [(near, middle - a), (far, middle - b), (far, middle + b), (near, middle + a)]
        drawing.polygon(outline, "band")
    for k, (size, place, tall) in enumerate(zip(sizes, places, heights, strict=True)):
        end = ends and k in (0, len(sizes) - 1)
        drawing.rect(
            place, middle - tall / 2, bar, tall, "muted-fill" if end else "main", f"{size:,}"
        )
    for layer in member.bottlenecks:
        k = layer - (0 if ends else 1)
        if 0 <= k < len(sizes):
            low, at = middle + heights[k] / 2, places[k] + bar / 2
            drawing.polygon([(at, low + 3), (at + 4, low + 10), (at - 4, low + 10)], "other")
            if len(member.bottlenecks) == 1:
                drawing.text(at, low + 22, f"{sizes[k]:,}", "small", "middle")


def _sizes(facts: TradeoffFacts, member: Member) -> list[int]:
    """Widths from left to right, inputs and outputs among them where they are known."""
    if facts.inputs is None or facts.outputs is None:
        return [*member.widths] or [1]
    return [facts.inputs, *member.widths, facts.outputs]


def _limits(group: Sequence[Member]) -> str:
    if len(group) == 1:
        return f"limit {number(group[0].limit)}"
    return f"limits {number(group[0].limit)} to {number(group[-1].limit)}"


def _described(group: Sequence[Member]) -> str:
    member = group[0]
    narrow = [f"layer {layer}" for layer in member.bottlenecks]
    said = f"{_limits(group)}: {short(member)}"
    return f"{said}, bottleneck in {listed(narrow)}" if narrow else said


def _words(facts: TradeoffFacts) -> list[str]:
    groups = facts.networks
    ends = "Grey are inputs and outputs. " if facts.inputs is not None else ""
    said = [
        "Each bar is as high as its layer has units, in all pictures to the same scale; bands "
        f"stand for the weights between. {ends}".strip()
    ]
    narrow = sum(bool(group[0].bottlenecks) for group in groups)
    if narrow:
        have = "has" if narrow == 1 else "have"
        said.append(
            f"{narrow} of {counted(len(groups), 'network')} {have} a bottleneck, "
            f"{BOTTLENECK_DEFINITION}: an arrow points to it. Wide layers cost most where they "
            "meet; a narrow one between them keeps both and saves the product."
        )
    if len(groups) > MOST_DRAWN:
        said.append(f"The first {MOST_DRAWN} of {len(groups)} are drawn.")
    return said
