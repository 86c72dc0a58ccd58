"""Which network of a trade-off to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log2

from tabnas.report._tradeoff_facts import Member, TradeoffFacts
from tabnas.report._tradeoff_words import CHANCE, capital, changed, said, short
from tabnas.report._words import PERCENT, cost_words, listed, metric_words, number

BENDS = 2.0
"""How many times more a doubling must buy before a bend than after it."""


@dataclass(frozen=True)
class Choice:
    """A network to begin with, and the reasons."""

    member: Member
    words: Sequence[str]


@dataclass(frozen=True)
class Bend:
    """Where more cost begins to buy less; what a doubling of it buys before and after."""

    member: Member
    before: float
    after: float


def choose(facts: TradeoffFacts) -> Choice:
    """The cheapest network that may be as good as the best; without test rows, the bend."""
    best = _best(facts)
    bend = find_bend(facts)
    cheaper = [
        m
        for m in facts.members
        if facts.tested and m.used < best.used and facts.as_good(m.score, best.score)
    ]
    enough = min(cheaper, key=lambda m: (m.used, m.limit)) if cheaper else best
    if not facts.tested and bend is not None:
        enough = bend.member
    words = [_of_best(facts, best, enough)]
    if bend is not None:
        words.append(_of_bend(facts, bend, enough))
    elif len(facts.networks) > 2:
        words.append("The curve has no clear bend: later steps buy about as much as earlier ones.")
    words += _of_dominated(facts)
    return Choice(enough, words)


def find_bend(facts: TradeoffFacts) -> Bend | None:
    """The network farthest on the good side of the line from the cheapest to the dearest.

    Costs count in doublings; networks that a cheaper one equals do not count.
    """
    known = [group[0] for group in facts.networks]
    curve = sorted(
        (m for m in known if m.optimal and m.used > 0 and isfinite(m.score.value)),
        key=lambda m: m.used,
    )
    if len(curve) < 3 or curve[0].used == curve[-1].used:
        return None
    first, last = curve[0], curve[-1]
    whole = log2(last.used) - log2(first.used)
    total = facts.gain(first, last)
    bends = []
    for member in curve[1:-1]:
        along = log2(member.used) - log2(first.used)
        if 0 < along < whole:
            bought = facts.gain(first, member)
            rate, rest = bought / along, (total - bought) / (whole - along)
            bends.append((bought - total * along / whole, Bend(member, rate, rest)))
    if not bends:
        return None
    _, bend = max(bends, key=lambda one: one[0])
    clear = isfinite(bend.before) and bend.before > 0 and bend.before >= BENDS * bend.after
    return bend if clear else None


def _best(facts: TradeoffFacts) -> Member:
    sign = -1 if facts.greater else 1
    known = [m for m in facts.members if isfinite(m.score.value)]
    return min(known or facts.members, key=lambda m: (sign * m.score.value, m.used, m.limit))


def _of_best(facts: TradeoffFacts, best: Member, enough: Member) -> str:
    metric, cost = metric_words(facts.metric), cost_words(facts.cost)
    value = said(facts, best.score.value)
    named = f"{short(best)} (limit {number(best.limit)}, {metric} {value})"
    if not facts.tested:
        return (
            "No rows were kept for a test. The values are those of the rows that also chose the "
            f"networks, so they are a little too good, and nothing tells what of a difference is "
            f"chance. The best there is {named}."
        )
    if len(facts.networks) == 1:
        return "There is one network to take: no wider limit gave a better one."
    if enough is not best:
        return (
            f"Begin with {short(enough)} (limit {number(enough.limit)}): it is the cheapest whose "
            f"{metric}, {said(facts, enough.score.value)}, lies within the 95{PERCENT} interval of "
            f"the best, {named}. What the {number(best.used - enough.used)} further {cost} add "
            f"{CHANCE}."
        )
    if best.used == min(m.used for m in facts.members):
        return f"{capital(named)} is both the cheapest and the best on test rows: take it."
    close = [short(m) for m in facts.members if m.used < best.used and not facts.apart(m, best)]
    begun = f"If its {number(best.used)} {cost} can be afforded, take {named}: no cheaper one "
    if not close:
        return f"{begun}comes near, and its 95{PERCENT} interval touches none of theirs."
    close = list(dict.fromkeys(close))
    return (
        f"{begun}lies within its 95{PERCENT} interval. The interval of {listed(close)} "
        f"still overlaps with it, so that difference {CHANCE}."
    )


def _of_bend(facts: TradeoffFacts, bend: Bend, enough: Member) -> str:
    metric, cost = metric_words(facts.metric), cost_words(facts.cost)
    way = 1 if facts.greater else -1
    if bend.after >= 0:
        moves = "raises" if facts.greater else "lowers"
        before, after = (changed(facts, gain)[1:] for gain in (bend.before, bend.after))
    else:
        moves = "changes"
        before, after = (changed(facts, way * gain) for gain in (bend.before, bend.after))
    counts = " Where cost counts more, take that one." if bend.member.used < enough.used else ""
    return (
        f"The curve bends at {short(bend.member)} (limit {number(bend.member.limit)}): up to there "
        f"every doubling of {cost} {moves} {metric} by {before} on average, after it by {after}."
        f"{counts}"
    )


def _of_dominated(facts: TradeoffFacts) -> list[str]:
    worse = [short(group[0]) for group in facts.networks if not group[0].optimal]
    if not worse:
        return []
    was = "was" if len(worse) == 1 else "were"
    return [f"On held-out rows {listed(worse)} {was} no better than a cheaper one."]
