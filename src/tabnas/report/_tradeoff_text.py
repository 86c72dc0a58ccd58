"""The result of a trade-off in sentences, and its values with common decimals."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite, log2

from tabnas.formatting import (
    PERCENT,
    PERCENT_METRICS,
    cost_label,
    count_decimals,
    format_count,
    format_fixed,
    format_number,
    metric_label,
)
from tabnas.report._teacher_text import list_models
from tabnas.results import TradeoffModel, TradeoffResult

NUMBER_WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip
SMALL_GAIN = 0.5
"""A step that gains less than this share of another's gain per doubling is called small."""
MINUS = "\N{MINUS SIGN}"
CHANCE = "may be chance"


def format_headline(result: TradeoffResult) -> str:
    """Return a sentence with the number of networks and their costs."""
    n_limits, n_networks = len(result.models), len(result.networks)
    used = sorted(map(result.used, result.models))
    cost = cost_label(result.cost)
    if n_networks == 1:
        limits = "limit" if n_limits == 1 else "limits"
        network = result.models[0].architecture
        size = f"{format_number(used[0])} {cost}"
        return f"{_spell(n_limits)} {limits}, one network: {network} with {size}."
    span = f"from {format_number(used[0])} to {format_number(used[-1])} {cost}"
    if n_networks == n_limits:
        return f"{_spell(n_limits)} networks {span}."
    return f"{_spell(n_limits)} limits, {_spell(n_networks).lower()} networks {span}."


def format_steps_summary(result: TradeoffResult) -> str:
    """Return a sentence with what the first and the last step to a wider limit gain."""
    networks = result.networks
    if len(networks) == 1:
        return "The networks that wider limits allow were no better."
    first, last = (networks[0][-1], networks[1][0]), (networks[-2][-1], networks[-1][0])
    text = f"{_format_raise(*first)} {_format_change(result, metric_label(result.metric), *first)}"
    if first != last:
        is_small = (
            0 <= _gain_per_doubling(result, *last) < SMALL_GAIN * _gain_per_doubling(result, *first)
        )
        verb = _verb(result, *last)
        is_same_verb = verb == _verb(result, *first) and verb != "leaves"
        change = (
            _format_from_to(result, *last) if is_same_verb else _format_change(result, "it", *last)
        )
        only = "only " if is_small and is_same_verb else ""
        limits = f"from {format_number(last[0].limit)} to {format_number(last[1].limit)}"
        text += f", {limits} {only}{change}"
    if result.is_tested and not result.differs_clearly(*last):
        text += f", which {CHANCE}"
    return f"{text}."


def format_teacher(result: TradeoffResult) -> str:
    """Return who taught the networks of all limits, and how many of them learned from it."""
    taught = sum(model.teacher_share > 0 for model in result.models)
    return (
        f"{list_models(result.teacher)}, for all limits; {taught} of {len(result.models)} networks "
        "learned from it"
    )


def format_step(result: TradeoffResult, before: TradeoffModel, after: TradeoffModel) -> str:
    """Return what a step from one limit to the next costs and gains, for a table."""
    if result.is_same_network(before, after):
        return "the same network"
    cost = result.used(after) - result.used(before)
    change = format_difference(result, result.score(after).value - result.score(before).value)
    unclear = result.is_tested and not result.differs_clearly(before, after)
    chance = f" ({CHANCE})" if unclear else ""
    added = _add_sign(format_number(abs(cost)), cost)
    return f"{added} {cost_label(result.cost)}: {metric_label(result.metric)} {change}{chance}"


def format_value(result: TradeoffResult, value: float) -> str:
    """Format a value with the decimals that all values of the trade-off have."""
    if not isfinite(value):
        return format_number(value)
    factor, unit = _unit(result)
    return f"{format_fixed(factor * value, _decimals(result))}{unit}"


def format_difference(result: TradeoffResult, difference: float) -> str:
    """Format the difference of two values, with its sign."""
    if not isfinite(difference):
        return "unknown"
    factor, unit = _unit(result)
    text = format_fixed(factor * abs(difference), _decimals(result))
    return _add_sign(f"{text} points" if unit else text, difference)


def format_network(model: TradeoffModel) -> str:
    """Return a network by its widths, or by their number if they are too many."""
    depth = model.architecture.depth
    if depth <= 8:
        return str(model.architecture)
    return f"the network of {format_count(depth, 'hidden layer')}"


def _add_sign(text: str, value: float) -> str:
    return f"{'+' if value >= 0 else MINUS}{text}"


def _spell(count: int) -> str:
    return NUMBER_WORDS[count].capitalize() if count < len(NUMBER_WORDS) else f"{count:,}"


def _format_raise(before: TradeoffModel, after: TradeoffModel) -> str:
    verb = "Doubling" if after.limit == 2 * before.limit else "Raising"
    return f"{verb} the limit from {format_number(before.limit)} to {format_number(after.limit)}"


def _verb(result: TradeoffResult, before: TradeoffModel, after: TradeoffModel) -> str:
    a, b = result.score(before).value, result.score(after).value
    if format_value(result, a) == format_value(result, b):
        return "leaves"
    return "raises" if b > a else "lowers"


def _format_change(
    result: TradeoffResult, subject: str, before: TradeoffModel, after: TradeoffModel
) -> str:
    verb = _verb(result, before, after)
    if verb == "leaves":
        return f"leaves {subject} at {format_value(result, result.score(after).value)}"
    return f"{verb} {subject} {_format_from_to(result, before, after)}"


def _format_from_to(result: TradeoffResult, before: TradeoffModel, after: TradeoffModel) -> str:
    a, b = (format_value(result, result.score(model).value) for model in (before, after))
    return f"from {a} to {b}"


def _gain_per_doubling(
    result: TradeoffResult, before: TradeoffModel, after: TradeoffModel
) -> float:
    if not 0 < before.limit < after.limit:
        return 0.0
    return result.gain(before, after) / (log2(after.limit) - log2(before.limit))


def _unit(result: TradeoffResult) -> tuple[float, str]:
    return (100.0, PERCENT) if result.metric in PERCENT_METRICS else (1.0, "")


def _decimals(result: TradeoffResult) -> int:
    """Return how many decimals tell the values apart."""
    factor, _ = _unit(result)
    scores = [s for s in map(result.score, result.models) if isfinite(s.value)]
    largest = max((abs(factor * score.value) for score in scores), default=0.0)
    spans = [factor * (score.high - score.low) for score in scores]
    if not result.is_tested:
        spans = [factor * abs(a.value - b.value) for a, b in pairwise(scores)]
    positive = [span for span in spans if isfinite(span) and span > 0]
    return max(count_decimals(largest, 3), count_decimals(min(positive), 2) if positive else 0)
