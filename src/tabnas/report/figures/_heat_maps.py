"""The probabilities of each layer's candidates over the search, as heat maps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from tabnas.formatting import capitalize_first, format_count, format_percent
from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.results import RunResult, Snapshot

SHADES = 8
ROUND_PROBABILITIES = (
    *(0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05),
    *(0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
)
"""The probabilities at which a shade may change."""
LEFT, RIGHT = 44.0, WIDTH - 46.0
HEAD = 26
FOOT = 26
MAX_ROW_HEIGHT, MAX_HEIGHT = 10.0, 220.0
MIN_LABEL_HEIGHT = 9.5
MAX_SHOWN = 4
MAX_DRAWN = 40
FEW_LAYERS = 6
MAX_COLUMNS, MAX_COLUMNS_OF_MANY_LAYERS = 100, 40


def draw_heat_maps(result: RunResult, history: Sequence[Snapshot]) -> Figure:
    """Draw a heat map for each layer: time to the right, widths upwards, darker is likelier.

    The first is the input layer with its dimensions, if numbers are embedded.
    """
    title = "What the search preferred"
    layers = _list_layers(result)[:MAX_DRAWN]
    fitting = [s for s in history if _fits(s, result.plan.layers)]
    if not fitting or not layers:
        why = "There is no record of the search, so its course cannot be drawn."
        return Figure(key="preferences", title=title, paragraphs=[why])
    columns = MAX_COLUMNS if len(layers) <= FEW_LAYERS else MAX_COLUMNS_OF_MANY_LAYERS
    snapshots = fitting[:: -(-len(fitting) // columns)]
    levels = choose_levels(snapshots)
    drawings = [
        _draw_layer([s.probabilities[k] for s in snapshots], levels, layer)
        for k, layer in enumerate(layers)
    ]
    n_shown = MAX_SHOWN + bool(result.plan.dimensions)
    shown, folded = drawings[:n_shown], drawings[n_shown:]
    return Figure(
        key="preferences",
        title=title,
        paragraphs=_describe(result, snapshots),
        drawings=[*shown, _draw_legend(levels)],
        folded=folded,
        folded_title=f"{format_count(len(folded), 'further layer')}",
    )


def _fits(snapshot: Snapshot, widths: Sequence[Sequence[int]]) -> bool:
    return list(map(len, snapshot.probabilities)) == list(map(len, widths))


@dataclass(frozen=True)
class _Layer:
    """A layer of the search space: its candidates, and the one that the model has."""

    name: str
    quantity: str  # "dimension" of the input layer, or "width"
    candidates: Sequence[int]
    chosen: int

    def format(self, candidate: int) -> str:
        """Format a candidate; a hidden layer of width 0 is absent."""
        return f"{candidate:,}" if candidate or self.quantity == "dimension" else "none"

    @property
    def chosen_row(self) -> float:
        """The row of the model's choice; between two rows if it is not among the candidates."""
        following = bisect_left(self.candidates, self.chosen)
        return following if self.chosen in self.candidates else following - 0.5

    @property
    def choice(self) -> str:
        """The model's choice in words."""
        if self.quantity == "width" and not self.chosen:
            return "left out"
        return f"{self.quantity} {self.chosen:,}"


def _list_layers(result: RunResult) -> list[_Layer]:
    """Return the layers of the search space, the input first if numbers are embedded."""
    plan, architecture = result.plan, result.architecture
    layers = []
    if plan.dimensions:
        layers.append(_Layer("input", "dimension", plan.dimensions, architecture.dimension))
    for k, widths in enumerate(plan.widths):
        chosen = architecture.widths[k] if k < architecture.depth else 0
        layers.append(_Layer(f"layer {k + 1}", "width", widths, chosen))
    return layers


def choose_levels(snapshots: Sequence[Snapshot]) -> list[float]:
    """Return the probabilities at which the shade changes: round, in about equal ratios."""
    layers = snapshots[0].probabilities
    uniform = 1 / max(1, *map(len, layers))
    largest = max((p for s in snapshots for layer in s.probabilities for p in layer), default=1.0)
    low, high = uniform / 3, max(0.85 * min(largest, 1.0), 2 * uniform)
    levels: list[float] = []
    for k in range(SHADES - 1):
        ideal = low * (high / low) ** (k / (SHADES - 2))
        larger = [value for value in ROUND_PROBABILITIES if not levels or value > levels[-1]] or [
            1.0
        ]
        levels.append(min(larger, key=lambda value: abs(log(value / ideal))))
    return levels


def _draw_layer(
    course: Sequence[Sequence[float]], bounds: Sequence[float], layer: _Layer
) -> Drawing:
    """Draw the course of the probabilities of one layer, [snapshots, candidates]."""
    candidates, quantity = layer.candidates, layer.quantity
    row = min(MAX_ROW_HEIGHT, MAX_HEIGHT / max(1, len(candidates)))
    bottom = HEAD + row * len(candidates)
    likeliest = max(range(len(candidates)), key=lambda j: course[-1][j], default=0)
    about = (
        f"In the end the most likely {quantity} is {layer.format(candidates[likeliest])}; the "
        f"model has {layer.choice}."
    )
    title = f"{capitalize_first(layer.name)}: probability of {quantity}s"
    drawing = Drawing(WIDTH, bottom + FOOT, title, about)
    drawing.text(0, 15, layer.name, "strong")
    if quantity == "dimension":
        drawing.text(LEFT, 15, "dimension of the numeric embeddings", "small")
    drawing.text(WIDTH, 15, f"chosen: {layer.choice}", "label", "end")
    drawing.rect(LEFT, HEAD, RIGHT - LEFT, bottom - HEAD, "heat0")
    column = (RIGHT - LEFT) / len(course)
    shades: list[list[tuple[float, float, float, float]]] = [[] for _ in range(SHADES)]
    for j in range(len(candidates)):
        levels = [bisect_right(bounds, probabilities[j]) for probabilities in course]
        for start, end, level in _runs(levels):
            box = (LEFT + start * column, bottom - (j + 1) * row, (end - start) * column, row)
            shades[level].append(box)
    for level, boxes in enumerate(shades[1:], start=1):
        drawing.bars(boxes, f"heat{level}")
    every = max(1, round(MIN_LABEL_HEIGHT / row + 0.4))
    for j, candidate in enumerate(candidates):
        if j % every == 0:
            base = bottom - (j + 0.5) * row + 3.5
            drawing.text(LEFT - 5, base, layer.format(candidate), "small", "end")
    base = bottom - (layer.chosen_row + 0.5) * row + 3.5
    drawing.text(RIGHT + 5, base, f"◂ {layer.format(layer.chosen)}", "small-strong")
    for share in (0.0, 0.5, 1.0):
        x = LEFT + share * (RIGHT - LEFT)
        drawing.text(x, bottom + 15, f"{share:.0%}".replace("%", " %"), "small", "middle")
    return drawing


def _runs(levels: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the runs (start, end, level) of equal levels, without the lowest level."""
    runs: list[tuple[int, int, int]] = []
    start = 0
    for k in range(1, len(levels) + 1):
        if k == len(levels) or levels[k] != levels[start]:
            if levels[start]:
                runs.append((start, k, levels[start]))
            start = k
    return runs


def _draw_legend(levels: Sequence[float]) -> Drawing:
    about = f"From below {levels[0]:.2%} to above {levels[-1]:.0%}; darker is more likely."
    drawing = Drawing(WIDTH, 44, "Shades", about)
    box = (RIGHT - LEFT) / SHADES
    for level in range(SHADES):
        drawing.rect(LEFT + level * box, 6, box, 12, f"heat{level} edge")
    for level, bound in enumerate(levels, start=1):
        drawing.text(LEFT + level * box, 33, f"{100 * bound:g} %", "small", "middle")
    return drawing


def _describe(result: RunResult, snapshots: Sequence[Snapshot]) -> list[str]:
    plan = result.plan
    space = f"{format_count(plan.architectures, 'network')} to choose from"
    if plan.feasible is not None:
        space += f", of which {format_count(plan.feasible, 'keeps', 'keep')} every limit"
    what, rows = "every width of every layer", "every row is a width"
    if plan.dimensions:
        what = f"every dimension of the numeric embeddings (the input) and {what}"
        rows = "every row is a dimension or a width"
    paragraphs = [
        f"There were {space}. The policy of the search has a probability for {what}. Networks "
        "are sampled from it, and good ones become more likely.",
        f"The search goes from left to right; {rows}, and darker is more likely. The mark at the "
        "right is what the model has.",
    ]
    frozen = [s.progress for s in snapshots if s.quality is None]
    if frozen and len(frozen) < len(snapshots):
        paragraphs.append(
            f"Up to {format_percent(max(frozen))} only weights are trained, and the probabilities "
            "stay as they are at the start."
        )
    quantity = "dimension and width" if plan.dimensions else "width"
    if _differs_from_policy(result, snapshots[-1]):
        paragraphs.append(
            f"Not every {quantity} of the model is the most likely one: candidates also come from "
            "the qualities that were seen, some have equally wide layers, and the best of them, "
            "trained stand-alone, became the model."
        )
    if any(layer.chosen not in layer.candidates for layer in _list_layers(result)):
        paragraphs.append(
            "Widths of the model lie between those of the search: candidates are as wide as the "
            "limit allows."
        )
    if len(plan.layers) > MAX_DRAWN:
        paragraphs.append(f"Only the first {MAX_DRAWN} layers are drawn.")
    return paragraphs


def _differs_from_policy(result: RunResult, last: Snapshot) -> bool:
    """Return whether a layer of the model differs from the most likely one of the policy."""
    for layer, probabilities in zip(_list_layers(result), last.probabilities, strict=True):
        candidates = layer.candidates
        nearest = min(range(len(candidates)), key=lambda j: abs(candidates[j] - layer.chosen))
        if probabilities[nearest] < max(probabilities):
            return True
    return False
