"""The network, drawn to scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tabnas.report._chart import WIDTH
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._words import counted, number

TALLEST = 190
TOP = 34
THIN = 2.0
"""The least height that can be seen; what would be lower is drawn so."""
MOST_UNITS_SEEN = 64
MOST_LABELLED = 9


def network(facts: RunFacts) -> Figure:
    """A bar for each layer, as high as it is wide, and the weights between as bands."""
    plan = facts.plan
    sizes = [plan.inputs, *facts.widths, plan.outputs]
    names = ["inputs", *(f"layer {k}" for k in range(1, len(sizes) - 1)), "outputs"]
    listed = ", ".join(f"{name}: {size:,}" for name, size in zip(names, sizes, strict=True))
    drawing = Drawing(WIDTH, TOP + TALLEST + 44, "The network to scale", f"{listed}.")
    bar = max(2.0, min(16.0, 0.4 * WIDTH / len(sizes)))
    places = [26 + k * (WIDTH - 52 - bar) / max(1, len(sizes) - 1) for k in range(len(sizes))]
    unit = TALLEST / max(*sizes, 1)
    heights = [max(THIN, size * unit) for size in sizes]
    middle = TOP + TALLEST / 2
    for k in range(len(sizes) - 1):
        weights = sizes[k] * sizes[k + 1]
        left, right = places[k] + bar, places[k + 1]
        a, b = heights[k] / 2, heights[k + 1] / 2
        outline = [(left, middle - a), (right, middle - b), (right, middle + b), (left, middle + a)]
        hint = f"{names[k]} to {names[k + 1]}: {counted(weights, 'weight')}"
        drawing.polygon(outline, "band", hint)
    step = -(-len(sizes) // MOST_LABELLED)
    for k, size in enumerate(sizes):
        _layer(drawing, names[k], size, places[k], bar, heights[k], middle)
        if (k % step == 0 and k < len(sizes) - step) or k == len(sizes) - 1:
            centre = places[k] + bar / 2
            drawing.text(centre, middle - heights[k] / 2 - 8, f"{size:,}", "strong", "middle")
            drawing.text(centre, TOP + TALLEST + 24, names[k], "tick", "middle")
    return Figure(
        key="network", title="The network", words=_words(facts, sizes), drawings=[drawing]
    )


def _layer(
    drawing: Drawing, name: str, size: int, x: float, bar: float, height: float, middle: float
) -> None:
    top = middle - height / 2
    end = name in ("inputs", "outputs")
    drawing.rect(x, top, bar, height, "muted-fill" if end else "main", f"{name}: {size:,}")
    if 1 < size <= MOST_UNITS_SEEN and height / size >= 2:
        gaps = [(x, top + k * height / size - 0.25, bar, 0.5) for k in range(1, size)]
        drawing.bars(gaps, "paper-fill")


def _words(facts: RunFacts, sizes: Sequence[int]) -> list[str]:
    hidden = len(facts.widths)
    heights = (
        f"{counted(hidden, 'hidden layer')} between {counted(sizes[0], 'input')} and "
        f"{counted(sizes[-1], 'output')}. Each bar is as high as its layer has units, and a "
        "band stands for all the weights between two layers."
    )
    if not hidden:
        heights = (
            f"No hidden layer: {counted(sizes[0], 'input')} straight to "
            f"{counted(sizes[-1], 'output')}. Nothing deeper did better within the limit."
        )
    said = [heights]
    parameters = next((c.value for c in facts.costs if c.name == "parameters"), None)
    weights = sum(a * b for a, b in pairwise(sizes))
    embedded = facts.plan.embedding_parameters
    if parameters is not None and weights + embedded <= parameters:
        rest = parameters - weights - embedded
        tables = f", {embedded:,} are embeddings of categories" if embedded else ""
        said.append(
            f"Of {number(parameters)} trained numbers, {weights:,} are weights between layers"
            f"{tables}; the other {number(rest)} belong to biases and normalisation."
        )
    if min(sizes) * TALLEST / max(*sizes, 1) < THIN:
        said.append("The thinnest bars would be too low to see and are drawn a little higher.")
    return said
