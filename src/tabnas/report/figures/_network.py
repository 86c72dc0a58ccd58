"""The network, drawn to scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tabnas.formatting import format_count, format_number
from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure
from tabnas.report._rounding_text import describe_rounding
from tabnas.report._svg import Drawing
from tabnas.results import RunResult

MAX_HEIGHT = 190
TOP = 34
MIN_HEIGHT = 2.0
"""The smallest height that can be seen; lower bars are drawn with it."""
MAX_SEPARATED_UNITS = 64
MAX_LABELLED = 9
TIMES = "\N{MULTIPLICATION SIGN}"


def draw_network(result: RunResult) -> Figure:
    """Draw a bar for each layer, as high as it has units, and bands for the weights between."""
    plan = result.plan
    sizes = [plan.input_width(result.architecture), *result.architecture.widths, plan.outputs]
    names = ["inputs", *(f"layer {k}" for k in range(1, len(sizes) - 1)), "outputs"]
    about = ", ".join(f"{name}: {size:,}" for name, size in zip(names, sizes, strict=True))
    embedded = sizes[0] - plan.inputs  # inputs that are numeric embeddings
    foot = 62 if embedded else 44
    drawing = Drawing(WIDTH, TOP + MAX_HEIGHT + foot, "The network to scale", f"{about}.")
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
    if embedded:
        _draw_embedded_inputs(drawing, result, lefts[0], bar, heights[0] / sizes[0], middle)
    return Figure(
        key="network",
        title="The network",
        paragraphs=_describe(result, sizes, names),
        drawings=[drawing],
    )


def _draw_layer(
    drawing: Drawing, name: str, size: int, x: float, bar: float, height: float, middle: float
) -> None:
    top = middle - height / 2
    color = "muted-fill" if name in ("inputs", "outputs") else "main"
    drawing.rect(x, top, bar, height, color, f"{name}: {size:,}")
    _draw_gaps(drawing, size, x, top, bar, height)


def _draw_gaps(
    drawing: Drawing, size: int, x: float, top: float, bar: float, height: float
) -> None:
    """Draw thin gaps between the units of a bar, if they are few."""
    if 1 < size <= MAX_SEPARATED_UNITS and height / size >= 2:
        gaps = [(x, top + k * height / size - 0.25, bar, 0.5) for k in range(1, size)]
        drawing.bars(gaps, "paper-fill")


def _draw_embedded_inputs(
    drawing: Drawing, result: RunResult, x: float, bar: float, unit: float, middle: float
) -> None:
    """Draw the inputs that are numeric embeddings over the lower part of the first bar."""
    plan, dimension = result.plan, result.architecture.dimension
    size = plan.input_width(result.architecture)
    bottom = middle + size * unit / 2
    top = bottom - dimension * plan.embedded_columns * unit
    columns = f"{format_count(plan.embedded_columns, 'column')} {TIMES} {dimension:,}"
    drawing.rect(x, top, bar, bottom - top, "embedded", f"numeric embeddings: {columns}")
    _draw_gaps(drawing, dimension * plan.embedded_columns, x, top, bar, bottom - top)
    if plan.embedded_columns * unit >= 2:
        gaps = [top + k * plan.embedded_columns * unit for k in range(dimension)]
        drawing.bars([(x, gap - 0.6, bar, 1.2) for gap in gaps], "paper-fill")
    text = f"{plan.inputs:,} plain + {columns} embedded"
    drawing.text(0, TOP + MAX_HEIGHT + 42, text, "tick")


def _describe(result: RunResult, sizes: Sequence[int], names: Sequence[str]) -> list[str]:
    depth = result.architecture.depth
    inputs, outputs = format_count(sizes[0], "input"), format_count(sizes[-1], "output")
    paragraphs = [
        f"{format_count(depth, 'hidden layer')} between {inputs} and {outputs}. Each bar is as "
        "high as its layer has units, and a band stands for all the weights between two layers."
        if depth
        else f"No hidden layer: {inputs} straight to {outputs}. Nothing deeper did better within "
        "the limit."
    ]
    paragraphs += _describe_input_layer(result)
    use = result.costs.get("parameters")
    weights = sum(a * b for a, b in pairwise(sizes))
    embedded = {
        "categories": result.plan.embedding_parameters,
        "numbers": result.plan.numeric_embedding_parameters(result.architecture),
    }
    rest = 0 if use is None else use.value - weights - sum(embedded.values())
    if use is not None and rest >= 0:
        tables = [f", {count:,} embeddings of {name}" for name, count in embedded.items() if count]
        paragraphs.append(
            f"Of {format_number(use.value)} parameters, {weights:,} are weights between layers"
            f"{''.join(tables)}; the other {format_number(rest)} belong to biases and "
            "normalisation."
        )
    rounding = describe_rounding(result)
    paragraphs += [rounding] if rounding else []
    if "ram_bytes" in result.limited_costs:
        paragraphs.append(_describe_memory(sizes, names))
    if min(sizes) * MAX_HEIGHT / max(*sizes, 1) < MIN_HEIGHT:
        paragraphs.append("The lowest bars are drawn a little higher than to scale, to be seen.")
    return paragraphs


def _describe_memory(sizes: Sequence[int], names: Sequence[str]) -> str:
    """Return a sentence on the two neighbouring layers whose activations take the most memory."""
    peak = max(range(len(sizes) - 1), key=lambda k: sizes[k] + sizes[k + 1])
    before, after = names[peak : peak + 2]
    return (
        f"To predict a row, the activations of two neighbouring layers are in memory at once. The "
        f"most are those of {before} and {after}: {sizes[peak]:,} + {sizes[peak + 1]:,} numbers."
    )


def _describe_input_layer(result: RunResult) -> list[str]:
    """Explain the numeric embeddings, and how they are written in the name of the network."""
    plan, architecture = result.plan, result.architecture
    if not architecture.dimension or not plan.embedded_columns:
        return []
    dimension = architecture.dimension
    columns = format_count(plan.embedded_columns, "numeric column")
    numbers = format_count(dimension, "learned number")
    name = architecture if architecture.depth <= MAX_LABELLED else "The name of the network"
    widths = " The numbers after it are the widths of the hidden layers."
    widths = widths if architecture.depth else ""
    return [
        f"{name} starts with d{dimension}: besides its value, each of {columns} is read as "
        f"{numbers}, the lower part of the inputs.{widths}"
    ]
