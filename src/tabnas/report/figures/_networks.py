"""The networks of a trade-off, drawn to one scale."""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.formatting import format_count, format_number, join_words, text_width, truncate
from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure
from tabnas.report._labels import LETTER_WIDTH
from tabnas.report._svg import Drawing
from tabnas.report._tradeoff_text import format_network
from tabnas.results import TradeoffModel, TradeoffResult
from tabnas.space import BOTTLENECK_DEFINITION

MAX_DRAWN = 24
FEW_NETWORKS = 4
GAP = 22.0
HEAD, MAX_HEIGHT, FOOT = 40.0, 84.0, 34.0
MIN_HEIGHT = 1.5
"""The smallest height that can be seen."""


def draw_networks(result: TradeoffResult) -> Figure:
    """Draw the layers of every network as bars, all to the same scale."""
    groups = result.networks[:MAX_DRAWN]
    columns = 2 if len(groups) <= FEW_NETWORKS else 3
    rows = -(-len(groups) // columns)
    height = HEAD + MAX_HEIGHT + FOOT
    about = "; ".join(_describe_network(group) for group in groups)
    drawing = Drawing(WIDTH, rows * height, "The networks to one scale", f"{about}.")
    width = (WIDTH - (columns - 1) * GAP) / columns
    widest = max(max(_sizes(result, group[0])) for group in groups)
    for k, group in enumerate(groups):
        left, top = (k % columns) * (width + GAP), (k // columns) * height
        _draw_network(drawing, result, group, left, top, width, MAX_HEIGHT / max(1, widest))
    return Figure(
        key="networks-drawn",
        title="The networks, side by side",
        paragraphs=_describe(result),
        drawings=[drawing],
    )


def _draw_network(
    drawing: Drawing,
    result: TradeoffResult,
    group: Sequence[TradeoffModel],
    left: float,
    top: float,
    width: float,
    unit: float,
) -> None:
    model = group[0]
    sizes = _sizes(result, model)
    letters = int(width / LETTER_WIDTH)
    limits = _format_limits(group)
    if text_width(limits) > letters:
        limits = _format_limits(group[-1:])
    drawing.text(left, top + 14, limits, "tick")
    drawing.text(left, top + 30, truncate(str(model.architecture), letters), "strong")
    bar = max(1.0, min(10.0, 0.4 * width / len(sizes)))
    step = (width - bar) / max(1, len(sizes) - 1)
    lefts = [left + k * step for k in range(len(sizes))]
    heights = [max(MIN_HEIGHT, size * unit) for size in sizes]
    middle = top + HEAD + MAX_HEIGHT / 2
    for k in range(len(sizes) - 1):
        a, b = heights[k] / 2, heights[k + 1] / 2
        near, far = lefts[k] + bar, lefts[k + 1]
        outline = [(near, middle - a), (far, middle - b), (far, middle + b), (near, middle + a)]
        drawing.polygon(outline, "band")
    for k, (size, x, height) in enumerate(zip(sizes, lefts, heights, strict=True)):
        color = "muted-fill" if k in (0, len(sizes) - 1) else "main"
        drawing.rect(x, middle - height / 2, bar, height, color, f"{size:,}")
    if sizes[0] > result.inputs:
        share = 1 - result.inputs / sizes[0]
        base, height = middle + heights[0] / 2, share * heights[0]
        tooltip = f"numeric embeddings: {sizes[0] - result.inputs:,}"
        drawing.rect(lefts[0], base - height, bar, height, "embedded", tooltip)
    for layer in model.bottlenecks:
        low, at = middle + heights[layer] / 2, lefts[layer] + bar / 2
        drawing.polygon([(at, low + 3), (at + 4, low + 10), (at - 4, low + 10)], "other")
        if len(model.bottlenecks) == 1:
            drawing.text(at, low + 22, f"{sizes[layer]:,}", "small", "middle")


def _sizes(result: TradeoffResult, model: TradeoffModel) -> list[int]:
    """Return the widths from the inputs to the outputs."""
    return [result.input_width(model.architecture), *model.architecture.widths, result.outputs]


def _format_limits(group: Sequence[TradeoffModel]) -> str:
    if len(group) == 1:
        return f"limit {format_number(group[0].limit)}"
    return f"limits {format_number(group[0].limit)} to {format_number(group[-1].limit)}"


def _describe_network(group: Sequence[TradeoffModel]) -> str:
    text = f"{_format_limits(group)}: {format_network(group[0])}"
    layers = [f"layer {layer}" for layer in group[0].bottlenecks]
    return f"{text}, bottleneck in {join_words(layers)}" if layers else text


def _describe(result: TradeoffResult) -> list[str]:
    groups = result.networks
    paragraphs = [
        "Each bar is as high as its layer has units, for all networks to the same scale; bands "
        "stand for the weights between. Inputs and outputs are grey."
    ]
    if any(model.architecture.dimension for model in result.models):
        paragraphs.append(
            "In a name, d2 means that each numeric column is also read as 2 learned numbers, the "
            "lower part of the inputs. The numbers after it are the widths of the hidden layers."
        )
    n_narrow = sum(bool(group[0].bottlenecks) for group in groups)
    if n_narrow:
        have = "has" if n_narrow == 1 else "have"
        paragraphs.append(
            f"{n_narrow} of {format_count(len(groups), 'network')} {have} a bottleneck, "
            f"{BOTTLENECK_DEFINITION}: an arrow points to it. Wide layers cost most where they "
            "meet; a narrow one between them keeps both and saves the product."
        )
    if len(groups) > MAX_DRAWN:
        paragraphs.append(f"The first {MAX_DRAWN} of {len(groups)} are drawn.")
    return paragraphs
