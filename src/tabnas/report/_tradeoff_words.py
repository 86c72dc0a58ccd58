"""What a trade-off comes to, in sentences."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite, log2

from tabnas.report._tradeoff_facts import Member, TradeoffFacts
from tabnas.report._words import (
    PERCENT,
    SHARES,
    alike,
    cost_words,
    counted,
    metric_words,
    number,
    places_of,
)

SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LESS = 0.5
"""A step that buys less than this share of another per doubling buys "only" so much."""
MINUS = "\N{MINUS SIGN}"
CHANCE = "may be chance"


def headline(facts: TradeoffFacts) -> str:
    """How many networks there are, and what they cost."""
    limits, networks = len(facts.members), facts.networks
    used = sorted(member.used for member in facts.members)
    cost = cost_words(facts.cost)
    if len(networks) == 1:
        (member, *_) = facts.members
        return (
            f"{_many(limits)} {'limit' if limits == 1 else 'limits'}, one network: "
            f"{member.architecture} with {number(used[0])} {cost}."
        )
    span = f"from {number(used[0])} to {number(used[-1])} {cost}"
    if len(networks) == limits:
        return f"{_many(limits)} networks {span}."
    return f"{_many(limits)} limits, {_many(len(networks)).lower()} networks {span}."


def verdict(facts: TradeoffFacts) -> str:
    """What the first step buys, and what the last."""
    networks = facts.networks
    if len(networks) == 1:
        return "What the wider limits allow did no better."
    first, last = (networks[0][-1], networks[1][0]), (networks[-2][-1], networks[-1][0])
    begun = _lifted(*first)
    metric = metric_words(facts.metric)
    said = f"{begun} {_moves(facts, metric, *first)}"
    if first != last:
        little = 0 <= _rate(facts, *last) < LESS * _rate(facts, *first)
        verb = _verb(facts, *last)
        same = verb == _verb(facts, *first) and verb != "leaves"
        moved = _from_to(facts, *last) if same else _moves(facts, "it", *last)
        only = "only " if little and same else ""
        said += f", from {number(last[0].limit)} to {number(last[1].limit)} {only}{moved}"
    if facts.tested and not facts.apart(*last):
        said += f", which {CHANCE}"
    return f"{said}."


def step_words(facts: TradeoffFacts, before: Member, after: Member) -> str:
    """What one step buys, for a table."""
    if (before.architecture, before.used) == (after.architecture, after.used):
        return "the same network"
    cost = f"{signed(number(abs(after.used - before.used)), after.used - before.used)}"
    change = changed(facts, after.score.value - before.score.value)
    chance = "" if facts.apart(before, after) or not facts.tested else f" ({CHANCE})"
    return f"{cost} {cost_words(facts.cost)}: {metric_words(facts.metric)} {change}{chance}"


def said(facts: TradeoffFacts, value: float) -> str:
    """A value, with as many digits after the point as all others of the trade-off have."""
    if not isfinite(value):
        return number(value)
    factor, unit = _unit(facts)
    return f"{alike([factor * value], _places(facts))[0]}{unit}"


def changed(facts: TradeoffFacts, change: float) -> str:
    """A difference of two values, with its sign."""
    if not isfinite(change):
        return "unknown"
    factor, unit = _unit(facts)
    (text,) = alike([factor * abs(change)], _places(facts))
    return signed(f"{text} points" if unit else text, change)


def signed(text: str, value: float) -> str:
    """A sign before the words; one as wide as plus."""
    return f"{'+' if value >= 0 else MINUS}{text}"


def capital(words: str) -> str:
    """Words at the beginning of a line."""
    return words[:1].upper() + words[1:]


def short(member: Member) -> str:
    """A network by its widths, unless these are too many to say."""
    if len(member.widths) <= 8:
        return member.architecture
    return f"the network of {counted(len(member.widths), 'hidden layer')}"


def _many(count: int) -> str:
    return SMALL[count].capitalize() if count < len(SMALL) else f"{count:,}"


def _lifted(before: Member, after: Member) -> str:
    doubling = "Doubling" if after.limit == 2 * before.limit else "Lifting"
    return f"{doubling} the limit from {number(before.limit)} to {number(after.limit)}"


def _verb(facts: TradeoffFacts, before: Member, after: Member) -> str:
    a, b = before.score.value, after.score.value
    if said(facts, a) == said(facts, b):
        return "leaves"
    return "raises" if b > a else "lowers"


def _moves(facts: TradeoffFacts, what: str, before: Member, after: Member) -> str:
    verb = _verb(facts, before, after)
    if verb == "leaves":
        return f"leaves {what} at {said(facts, after.score.value)}"
    return f"{verb} {what} {_from_to(facts, before, after)}"


def _from_to(facts: TradeoffFacts, before: Member, after: Member) -> str:
    return f"from {said(facts, before.score.value)} to {said(facts, after.score.value)}"


def _rate(facts: TradeoffFacts, before: Member, after: Member) -> float:
    """What a doubling of the limit buys."""
    if not 0 < before.limit < after.limit:
        return 0.0
    return facts.gain(before, after) / (log2(after.limit) - log2(before.limit))


def _unit(facts: TradeoffFacts) -> tuple[float, str]:
    return (100.0, PERCENT) if facts.metric in SHARES else (1.0, "")


def _places(facts: TradeoffFacts) -> int:
    """Digits after the point that tell the values apart, and no more."""
    factor, _ = _unit(facts)
    scores = [m.score for m in facts.members if isfinite(m.score.value)]
    largest = max((abs(factor * score.value) for score in scores), default=0.0)
    spans = [factor * (score.high - score.low) for score in scores]
    if not facts.tested:
        spans = [factor * abs(a.value - b.value) for a, b in pairwise(scores)]
    known = [span for span in spans if isfinite(span) and span > 0]
    return max(places_of(largest, 3), places_of(min(known), 2) if known else 0)
