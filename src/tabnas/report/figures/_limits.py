"""Whether every limit holds, and which of them binds."""

from __future__ import annotations

from tabnas.report._chart import WIDTH
from tabnas.report._facts import Cost, RunFacts, Wider
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._words import cost_words, counted, isolated, listed, number, percent

ROW = 54
BAR = 14
LINE = 22
MOST_OTHERS = 8


def limits(facts: RunFacts) -> Figure:
    """A bar for every limit, full where nothing is left."""
    limited = facts.limits
    others = [cost for cost in facts.costs if cost.limit is None][:MOST_OTHERS]
    height = len(limited) * ROW + len(others) * LINE + 12
    drawing = Drawing(WIDTH, height, "Limits", " ".join(map(_sentence, limited)))
    for row, cost in enumerate(limited):
        _bar(drawing, cost, row * ROW)
    for row, cost in enumerate(others):
        base = len(limited) * ROW + (row + 0.7) * LINE
        drawing.text(0, base, cost_words(cost.name), "label")
        drawing.text(WIDTH, base, f"{number(cost.value)} · no limit", "tick", "end")
    broken = [cost_words(cost.name) for cost in limited if not cost.holds]
    verdict = (
        f"The limit on {listed(broken)} does not hold."
        if broken
        else "Every limit holds."
        if len(limited) > 1
        else "The limit holds."
    )
    promised = "Nothing over a limit is ever trained as a candidate, returned, saved or loaded."
    return Figure(
        key="limits",
        title="Limits",
        words=[f"{verdict} {promised}", *_binding(facts)] if limited else ["There is no limit."],
        drawings=[drawing],
    )


def share_of(cost: Cost) -> float:
    """How much of its limit a cost uses; a limit of nothing is used up."""
    limit = cost.limit or 0.0
    return cost.value / limit if limit else 1.0 if cost.value <= 0 else float("inf")


def _sentence(cost: Cost) -> str:
    held = "holds" if cost.holds else "does not hold"
    used = f"{number(cost.value)} of at most {number(cost.limit or 0.0)} {cost_words(cost.name)}"
    return f"{used} ({percent(share_of(cost))}); the limit {held}."


def _bar(drawing: Drawing, cost: Cost, top: float) -> None:
    share = share_of(cost)
    drawing.text(0, top + 16, cost_words(cost.name), "strong")
    said = f"{number(cost.value)} of {number(cost.limit or 0.0)}"
    mark = "✓ holds" if cost.holds else "✗ broken"
    drawing.text(WIDTH, top + 16, f"{said} · {percent(share)} · {mark}", "label", "end")
    drawing.rect(0, top + 25, WIDTH, BAR, "track")
    filled = WIDTH * min(1.0, max(0.0, share if share == share else 0.0))
    drawing.rect(0, top + 25, filled, BAR, "main" if cost.holds else "other", _sentence(cost))


def _binding(facts: RunFacts) -> list[str]:
    """What stands in the way of a wider network."""
    if not facts.wider:
        return []
    forbidden = [step for step in facts.wider if step.breaks]
    are = "is" if len(facts.wider) == 1 else "are"
    steps = f"One step wider in one layer there {are} {counted(len(facts.wider), 'network')}"
    said = [f"{steps}: {_forbids(facts, forbidden)}."]
    allowed = [isolated(step.architecture) for step in facts.wider if not step.breaks]
    if allowed:
        was = "was" if len(allowed) == 1 else "were"
        said.append(f"Allowed, and not chosen, {was} {listed(allowed)}.")
    if len(facts.limits) > 1 and forbidden:
        said.append(_which_binds(facts, forbidden))
    return [" ".join(said)]


def _forbids(facts: RunFacts, forbidden: list[Wider]) -> str:
    if not forbidden:
        return "no limit forbids any, so the limits leave room that did not pay"
    by_cost = {
        cost.name: sum(cost.name in step.breaks for step in forbidden) for cost in facts.limits
    }
    return listed(
        [
            f"the limit on {cost_words(name)} forbids {_amount(count, len(facts.wider))}"
            for name, count in by_cost.items()
        ]
    )


def _amount(count: int, total: int) -> str:
    if count == total:
        return "it" if total == 1 else "all"
    return f"{count:,}" if count else "none"


def _which_binds(facts: RunFacts, forbidden: list[Wider]) -> str:
    binding = {name for step in forbidden for name in step.breaks}
    free = [cost_words(cost.name) for cost in facts.limits if cost.name not in binding]
    bound = [cost_words(cost.name) for cost in facts.limits if cost.name in binding]
    if not free:
        return "All of them bind."
    binds = "binds" if len(bound) == 1 else "bind"
    return f"So {listed(bound)} {binds}; {listed(free)} could be tighter without a change."
