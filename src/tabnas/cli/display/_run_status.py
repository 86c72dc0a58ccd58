"""Draw the status of a run for a terminal of 80 columns."""

from __future__ import annotations

from math import isfinite

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tabnas.cli.display._formatting import draw_bar, draw_sparkline
from tabnas.cli.display._progress import UNMEASURED_PHASES
from tabnas.formatting import format_clock, format_fixed, format_fixed_percent, shorten
from tabnas.results import Snapshot
from tabnas.runs import RunStatus

LABEL_WIDTH, VALUE_WIDTH, SPARKLINE_WIDTH = 14, 8, 50  # columns
PROGRESS_BAR_WIDTH = 20
PROBABILITY_BAR_WIDTH = 8
MAX_LAYERS = 10
MAX_WIDTHS = 3  # of a layer, the most probable ones


def draw_status(status: RunStatus, folder: str, seconds: float) -> RenderableType:
    """Draw the status of a run that has been working for some seconds."""
    parts: list[RenderableType] = [
        Text(_format_title(status, folder), style="bold"),
        _draw_phase(status),
    ]
    now = status.snapshot
    if now is not None:
        parts += [_draw_search(status, now), Text(), _draw_layers(status, now)]
    parts.append(
        Text(f"running for {format_clock(seconds)}; Ctrl-C ends only this view", style="dim italic")
    )
    return Group(*parts)


def summarize_status(status: RunStatus) -> str:
    """Return the status in one line, for logs."""
    share = "" if status.phase in UNMEASURED_PHASES else f" {format_fixed_percent(status.done)}"
    parts = [f"{shorten(status.phase)}{share}"]
    now = status.snapshot
    if status.phase == "search" and now is not None:
        parts.append(f"most likely {_format_most_likely(status, now)}")
        parts.append(f"P(V) {format_fixed(now.feasible_probability, 2)}")
        if now.quality is not None:
            parts.append(f"quality {format_fixed(now.quality, 3)}")
    elif status.note:
        parts.append(shorten(status.note))
    return ", ".join(parts)


def _format_title(status: RunStatus, folder: str) -> str:
    where = shorten(folder, 40)
    if status.limit is None:
        return where
    return f"{where}: {shorten(status.target, 20)} within {_format_limit(status)}"


def _draw_phase(status: RunStatus) -> Table:
    grid = _make_grid(LABEL_WIDTH, PROGRESS_BAR_WIDTH, 6)
    is_unmeasured = status.phase in UNMEASURED_PHASES
    done = min(1.0, max(0.0, status.done)) if isfinite(status.done) else 0.0
    bar = ProgressBar(total=1.0, completed=done, width=PROGRESS_BAR_WIDTH, pulse=is_unmeasured)
    share = "" if is_unmeasured else format_fixed_percent(done)
    grid.add_row(
        Text(shorten(status.phase, LABEL_WIDTH)),
        bar,
        Text(share, justify="right"),
        Text(_format_note(status)),
    )
    return grid


def _format_note(status: RunStatus) -> str:
    parts = []
    if status.epoch is not None:
        parts.append(f"epoch {format_fixed(status.epoch, 0)}")
    if status.rows_per_second is not None:
        parts.append(f"{format_fixed(status.rows_per_second, 0)} rows/s")
    return ", ".join([*parts, *filter(None, [shorten(status.note, 34)])])


def _draw_search(status: RunStatus, now: Snapshot) -> Table:
    """Draw the most likely architecture, and the course of quality, P(V) and entropy."""
    first = _make_grid(LABEL_WIDTH)
    first.add_row(Text("most likely", style="dim"), Text(_format_most_likely(status, now)))
    grid = _make_grid(LABEL_WIDTH, VALUE_WIDTH)
    values = {
        "quality": (now.quality, 3),
        "P(V)": (now.feasible_probability, 2),
        "entropy": (now.entropy, 1),
    }
    for index, (name, (value, decimals)) in enumerate(values.items(), start=1):
        course = [(point[0] or 0.0, point[index]) for point in status.curve]
        text = "not yet" if value is None else format_fixed(value, decimals)
        line = Text(draw_sparkline(course, SPARKLINE_WIDTH), style="cyan")
        grid.add_row(Text(name, style="dim"), text, line)
    both = Table.grid()
    both.add_row(first)
    both.add_row(grid)
    return both


def _draw_layers(status: RunStatus, now: Snapshot) -> Table:
    """Draw the most probable dimensions of the input layer, if any, and widths of the others."""
    grid = _make_grid(LABEL_WIDTH, 19, 19)
    layers = zip(status.layers[:MAX_LAYERS], now.probabilities, strict=False)
    for layer, (candidates, probabilities) in enumerate(layers, start=not status.dimensions):
        pairs = sorted(
            zip(probabilities, candidates, strict=True), key=lambda pair: (-pair[0], pair[1])
        )
        names = [f"{width}" if width else "none" for _, width in pairs]
        if not layer:
            names = [f"d{dimension}" for _, dimension in pairs]
        cells = [
            _draw_candidate(name, probability)
            for name, (probability, _) in zip(names[:MAX_WIDTHS], pairs, strict=False)
        ]
        grid.add_row(Text(f"layer {layer}" if layer else "input", style="dim"), *cells)
    left = len(status.layers) - MAX_LAYERS
    if left > 0:
        grid.add_row(Text(f"and {left} more", style="dim"))
    return grid


def _draw_candidate(name: str, probability: float) -> Text:
    bar = draw_bar(probability, PROBABILITY_BAR_WIDTH)
    return Text.assemble(
        f"{name:>4} ",
        (f"{bar:<{PROBABILITY_BAR_WIDTH}}", "cyan"),
        f"{format_fixed_percent(probability):>5}",
    )


def _format_most_likely(status: RunStatus, now: Snapshot) -> str:
    architecture = shorten(now.most_likely, 30)
    if not status.limit or not isfinite(now.most_likely_cost):
        return architecture
    share = format_fixed_percent(now.most_likely_cost / status.limit)
    cost = format_fixed(now.most_likely_cost, 0)
    return f"{architecture} ({cost} of {_format_limit(status)}, {share})"


def _format_limit(status: RunStatus) -> str:
    return f"{format_fixed(status.limit or 0.0, 0)} {shorten(status.cost, 20)}"


def _make_grid(*widths: int) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for width in widths:
        grid.add_column(width=width, no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    return grid
