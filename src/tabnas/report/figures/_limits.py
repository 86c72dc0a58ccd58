"""The limits: how much of each is used, and which of them bind."""

from __future__ import annotations

from collections.abc import Mapping

from tabnas.formatting import (
    cost_label,
    format_count,
    format_number,
    format_percent,
    join_words,
)
from tabnas.report._chart import WIDTH
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.results import CostUse, RunResult, WiderNeighbour
from tabnas.space import LATENCY_ROWS

ROW_HEIGHT = 54
BAR_HEIGHT = 14
LINE_HEIGHT = 22
MAX_OTHERS = 8


def draw_limits(result: RunResult) -> Figure:
    """Draw a bar for every limit, full if all of the limit is used."""
    limited = result.limited_costs
    others = [(n, cost) for n, cost in result.costs.items() if cost.limit is None][:MAX_OTHERS]
    height = len(limited) * ROW_HEIGHT + len(others) * LINE_HEIGHT + 12
    about = " ".join(_describe_limit(name, cost) for name, cost in limited.items())
    drawing = Drawing(WIDTH, height, "Limits", about)
    for row, (name, cost) in enumerate(limited.items()):
        _draw_bar(drawing, name, cost, row * ROW_HEIGHT)
    for row, (name, cost) in enumerate(others):
        base = len(limited) * ROW_HEIGHT + (row + 0.7) * LINE_HEIGHT
        drawing.text(0, base, cost_label(name), "label")
        drawing.text(WIDTH, base, f"{format_number(cost.value)} · no limit", "tick", "end")
    broken = [cost_label(name) for name, cost in limited.items() if not cost.is_within_limit]
    verdict = (
        f"The limit on {join_words(broken)} does not hold."
        if broken
        else "Every limit holds."
        if len(limited) > 1
        else "The limit holds."
    )
    return Figure(
        key="limits",
        title="Limits",
        paragraphs=[
            f"{verdict} {_describe_check(result, limited)}",
            *_describe_wider_neighbours(result),
        ]
        if limited
        else ["There is no limit."],
        drawings=[drawing],
    )


def _describe_check(result: RunResult, limited: Mapping[str, CostUse]) -> str:
    """Return sentences on how the limits were checked."""
    latency = limited.keys() & LATENCY_ROWS
    which = "another" if latency else "a"
    sentences = []
    if latency and result.measured_latencies:
        sentences.append("Latency was measured with the trained network; loading cannot check it.")
    elif latency:
        sentences.append("Latency was predicted from a latency table; it was not measured.")
    if limited.keys() - latency:
        sentences.append(
            f"Nothing over {which} limit is ever trained as a candidate, returned, saved or loaded."
        )
    return " ".join(sentences)


def _describe_limit(name: str, cost: CostUse) -> str:
    state = "holds" if cost.is_within_limit else "does not hold"
    used = f"{format_number(cost.value)} of at most {format_number(cost.limit or 0)}"
    return f"{used} {cost_label(name)} ({format_percent(cost.share)}); the limit {state}."


def _draw_bar(drawing: Drawing, name: str, cost: CostUse, top: float) -> None:
    drawing.text(0, top + 16, cost_label(name), "strong")
    used = f"{format_number(cost.value)} of {format_number(cost.limit or 0)}"
    mark = "✓ holds" if cost.is_within_limit else "✗ broken"
    label = f"{used} · {format_percent(cost.share)} · {mark}"
    drawing.text(WIDTH, top + 16, label, "label", "end")
    drawing.rect(0, top + 25, WIDTH, BAR_HEIGHT, "track")
    filled = WIDTH * min(1.0, max(0.0, cost.share))
    color = "main" if cost.is_within_limit else "other"
    drawing.rect(0, top + 25, filled, BAR_HEIGHT, color, _describe_limit(name, cost))


def _describe_wider_neighbours(result: RunResult) -> list[str]:
    """Return sentences on which limits forbid a wider network."""
    neighbours = result.wider_steps
    if not neighbours:
        return []
    forbidden = [neighbour for neighbour in neighbours if neighbour.violates]
    are = "is" if len(neighbours) == 1 else "are"
    intro = f"One step wider in one layer there {are} {format_count(len(neighbours), 'network')}"
    sentences = [f"{intro}: {_describe_forbidden(result, forbidden)}."]
    allowed = [str(neighbour.architecture) for neighbour in neighbours if not neighbour.violates]
    if allowed:
        was = "was" if len(allowed) == 1 else "were"
        sentences.append(f"Allowed, and not chosen, {was} {join_words(allowed)}.")
    if len(result.limited_costs) > 1 and forbidden:
        sentences.append(_describe_binding(result))
    return [" ".join(sentences)]


def _describe_forbidden(result: RunResult, forbidden: list[WiderNeighbour]) -> str:
    if not forbidden:
        return "no limit forbids any, so a wider network did not pay"
    counts = {
        name: sum(name in neighbour.violates for neighbour in forbidden)
        for name in result.limited_costs
    }
    total = len(result.wider_steps)
    return join_words(
        [
            f"the limit on {cost_label(name)} forbids {_format_share(count, total)}"
            for name, count in counts.items()
        ]
    )


def _format_share(count: int, total: int) -> str:
    if count == total:
        return "it" if total == 1 else "all"
    return f"{count:,}" if count else "none"


def _describe_binding(result: RunResult) -> str:
    free = [cost_label(n) for n in result.limited_costs if n not in result.binding_limits]
    bound = [cost_label(n) for n in result.limited_costs if n in result.binding_limits]
    if not free:
        return "All of them bind."
    binds = "binds" if len(bound) == 1 else "bind"
    return f"So {join_words(bound)} {binds}; {join_words(free)} could be tighter without a change."
