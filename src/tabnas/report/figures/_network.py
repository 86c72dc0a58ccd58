"""The network, drawn to scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tabnas.formatting import format_count, format_number
from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.results import RunResult

MAX_HEIGHT = 190
TOP = 34
MIN_HEIGHT = 2.0
"""The smallest height that can be seen; lower bars are drawn with it."""
MAX_SEPARATED_UNITS = 64
MAX_LABELLED = 9


def draw_network(result: RunResult) -> Figure:
    """Draw a bar for each layer, as high as it has units, and bands for the weights between."""
    plan = result.plan
    sizes = [plan.input_width(result.architecture), *result.architecture.widths, plan.outputs]
    names = ["inputs", *(f"layer {k}" for k in range(1, len(sizes) - 1)), "outputs"]
    about = ", ".join(f"{name}: {size:,}" for name, size in zip(names, sizes, strict=True))
    drawing = Drawing(WIDTH, TOP + MAX_HEIGHT + 44, "The network to scale", f"{about}.")
    bar = max(2.0, min(16.0, 0.4 * WIDTH / len(sizes)))
    lefts = [26 + k * (WIDTH - 52 - bar) / max(1, len(sizes) - 1) for k in range(len(sizes))]
    unit = MAX_HEIGHT / max(*sizes, 1)
    heights = [max(MIN_HEIGHT, size * unit) for size in sizes]
    middle = TOP + MAX_HEIGHT / 2
    for k in range(len(sizes) - 1):
        weights = sizes[k] * sizes[k + 1]
        left, right = lefts[k] + bar, lefts[k + 1]
        a, b = heights[k] / 2, heights[k + 1] / 2
        outline = [(left, middle - a), (right, middle - b), (right, middle + b), (left, middle + a)]
        tooltip = f"{names[k]} to {names[k + 1]}: {format_count(weights, 'weight')}"
        drawing.polygon(outline, "band", tooltip)
    step = -(-len(sizes) // MAX_LABELLED)
    for k, size in enumerate(sizes):
        _draw_layer(drawing, names[k], size, lefts[k], bar, heights[k], middle)
        if (k % step == 0 and k < len(sizes) - step) or k == len(sizes) - 1:
            centre = lefts[k] + bar / 2
            drawing.text(centre, middle - heights[k] / 2 - 8, f"{size:,}", "strong", "middle")
            drawing.text(centre, TOP + MAX_HEIGHT + 24, names[k], "tick", "middle")
    return Figure(
        key="network", title="The network", paragraphs=_describe(result, sizes), drawings=[drawing]
    )


def _draw_layer(
    drawing: Drawing, name: str, size: int, x: float, bar: float, height: float, middle: float
) -> None:
    top = middle - height / 2
    color = "muted-fill" if name in ("inputs", "outputs") else "main"
    drawing.rect(x, top, bar, height, color, f"{name}: {size:,}")
    if 1 < size <= MAX_SEPARATED_UNITS and height / size >= 2:
        gaps = [(x, top + k * height / size - 0.25, bar, 0.5) for k in range(1, size)]
        drawing.bars(gaps, "paper-fill")


def _describe(result: RunResult, sizes: Sequence[int]) -> list[str]:
    depth = result.architecture.depth
    inputs, outputs = format_count(sizes[0], "input"), format_count(sizes[-1], "output")
    paragraphs = [
        f"{format_count(depth, 'hidden layer')} between {inputs} and {outputs}. Each bar is as "
        "high as its layer has units, and a band stands for all the weights between two layers."
        if depth
        else f"No hidden layer: {inputs} straight to {outputs}. Nothing deeper did better within "
        "the limit."
    ]
    use = result.costs.get("parameters")
    weights = sum(a * b for a, b in pairwise(sizes))
    embedded = result.plan.embedding_parameters
    if use is not None and weights + embedded <= use.value:
        rest = format_number(use.value - weights - embedded)
        tables = f", {embedded:,} are embeddings of categories" if embedded else ""
        paragraphs.append(
            f"Of {format_number(use.value)} parameters, {weights:,} are weights between layers"
            f"{tables}; the other {rest} belong to biases and normalisation."
        )
    if min(sizes) * MAX_HEIGHT / max(*sizes, 1) < MIN_HEIGHT:
        paragraphs.append("The lowest bars are drawn a little higher than to scale, to be seen.")
    return paragraphs
