"""Which network of a trade-off to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log2

from tabnas.formatting import (
    PERCENT,
    capitalize_first,
    cost_label,
    format_number,
    join_words,
    metric_label,
)
from tabnas.report._tradeoff_text import CHANCE, format_difference, format_network, format_value
from tabnas.results import TradeoffModel, TradeoffResult

MIN_BEND = 2.0
"""A doubling of the cost must gain this many times more before a bend than after it."""


@dataclass(frozen=True)
class Choice:
    """The network to start with, and the reasons in sentences."""

    model: TradeoffModel
    reasons: Sequence[str]


@dataclass(frozen=True)
class Bend:
    """The network after which more cost gains less, and the gains per doubling around it."""

    model: TradeoffModel
    gain_before: float
    gain_after: float


def choose_network(result: TradeoffResult) -> Choice:
    """Return the cheapest network that may be as good as the best; without test rows, the bend."""
    best, bend = _find_best(result), find_bend(result)
    chosen = best
    if result.is_tested:
        cheaper = [
            m
            for m in result.models
            if result.used(m) < result.used(best)
            and result.is_as_good(result.score(m), result.score(best))
        ]
        chosen = min(cheaper, key=lambda m: (result.used(m), m.limit), default=best)
    elif bend is not None:
        chosen = bend.model
    reasons = [_compare_with_best(result, best, chosen)]
    if bend is not None:
        reasons.append(_describe_bend(result, bend, chosen))
    elif len(result.networks) > 2:
        reasons.append(
            "The curve has no clear bend: later steps gain about as much as earlier ones."
        )
    dominated = [format_network(g[0]) for g in result.networks if not g[0].pareto_optimal]
    if dominated:
        was = "was" if len(dominated) == 1 else "were"
        reasons.append(
            f"On validation rows {join_words(dominated)} {was} no better than a cheaper one."
        )
    return Choice(chosen, reasons)


def find_bend(result: TradeoffResult) -> Bend | None:
    """Return the network farthest on the good side of the line between both ends of the curve.

    Costs count in doublings. Networks that a cheaper one dominates are left out.
    """
    networks = [group[0] for group in result.networks]
    curve = sorted(
        (
            m
            for m in networks
            if m.pareto_optimal and result.used(m) > 0 and isfinite(result.score(m).value)
        ),
        key=result.used,
    )
    if len(curve) < 3 or result.used(curve[0]) == result.used(curve[-1]):
        return None
    first, last = curve[0], curve[-1]
    length = log2(result.used(last)) - log2(result.used(first))
    total = result.gain(first, last)
    bends = []
    for model in curve[1:-1]:
        along = log2(result.used(model)) - log2(result.used(first))
        if 0 < along < length:
            gain = result.gain(first, model)
            bend = Bend(model, gain / along, (total - gain) / (length - along))
            bends.append((gain - total * along / length, bend))
    if not bends:
        return None
    _, bend = max(bends, key=lambda pair: pair[0])
    is_clear = (
        isfinite(bend.gain_before)
        and bend.gain_before > 0
        and bend.gain_before >= MIN_BEND * bend.gain_after
    )
    return bend if is_clear else None


def _find_best(result: TradeoffResult) -> TradeoffModel:
    sign = -1 if result.greater_is_better else 1
    finite = [m for m in result.models if isfinite(result.score(m).value)]
    return min(
        finite or result.models,
        key=lambda m: (sign * result.score(m).value, result.used(m), m.limit),
    )


def _compare_with_best(result: TradeoffResult, best: TradeoffModel, chosen: TradeoffModel) -> str:
    metric, cost = metric_label(result.metric), cost_label(result.cost)
    value = format_value(result, result.score(best).value)
    name = f"{format_network(best)} (limit {format_number(best.limit)}, {metric} {value})"
    if not result.is_tested:
        return (
            "No rows were held out for a test. The values are those of the rows that also chose "
            "the networks, so they are a little too good, and nothing tells which differences are "
            f"chance. The best there is {name}."
        )
    if len(result.networks) == 1:
        return "There is one network to take: no wider limit gave a better one."
    if chosen is not best:
        score = format_value(result, result.score(chosen).value)
        more = format_number(result.used(best) - result.used(chosen))
        return (
            f"Start with {format_network(chosen)} (limit {format_number(chosen.limit)}): it is the "
            f"cheapest whose {metric}, {score}, lies within the 95{PERCENT} interval of the best, "
            f"{name}. What the {more} further {cost} add {CHANCE}."
        )
    if result.used(best) == min(map(result.used, result.models)):
        return f"{capitalize_first(name)} is both the cheapest and the best on test rows: take it."
    close = [
        format_network(m)
        for m in result.models
        if result.used(m) < result.used(best) and not result.differs_clearly(m, best)
    ]
    start = f"If you can afford its {format_number(result.used(best))} {cost}, take {name}: "
    if not close:
        return (
            f"{start}no cheaper one comes near, and its 95{PERCENT} interval overlaps with none "
            "of theirs."
        )
    return (
        f"{start}no cheaper one lies within its 95{PERCENT} interval. The interval of "
        f"{join_words(list(dict.fromkeys(close)))} still overlaps with it, so that difference "
        f"{CHANCE}."
    )


def _describe_bend(result: TradeoffResult, bend: Bend, chosen: TradeoffModel) -> str:
    metric, cost = metric_label(result.metric), cost_label(result.cost)
    gains = (bend.gain_before, bend.gain_after)
    if bend.gain_after >= 0:
        verb = "raises" if result.greater_is_better else "lowers"
        before, after = (format_difference(result, gain)[1:] for gain in gains)
    else:
        verb, sign = "changes", 1 if result.greater_is_better else -1
        before, after = (format_difference(result, sign * gain) for gain in gains)
    is_cheaper = result.used(bend.model) < result.used(chosen)
    advice = " If cost matters more, take that one." if is_cheaper else ""
    return (
        f"The curve bends at {format_network(bend.model)} (limit {format_number(bend.model.limit)})"
        f": up to there every doubling of {cost} {verb} {metric} by {before} on average, after it "
        f"by {after}.{advice}"
    )
