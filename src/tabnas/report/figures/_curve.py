"""Cost against quality of the networks of a trade-off."""

from __future__ import annotations

from math import isfinite

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._figure import Figure
from tabnas.report._labels import LETTER, Box, Room, around, box_of
from tabnas.report._svg import Drawing, Point
from tabnas.report._tradeoff_facts import Member, TradeoffFacts
from tabnas.report._tradeoff_words import said, short
from tabnas.report._words import (
    PERCENT,
    SHARES,
    cost_words,
    counted,
    cut,
    interval,
    listed,
    metric_words,
    number,
    text_width,
)
from tabnas.space import BOTTLENECK_DEFINITION

LEFT, RIGHT, TOP, BOTTOM = 56.0, WIDTH - 16.0, 40.0, 316.0
RADIUS = 5.5
LOG_FROM = 4.0
"""Limits are mostly doubled, so smaller ratios than elsewhere ask for a logarithmic axis."""
NEAR = 0.5
"""Others are drawn where they are at most this share of the networks' range away from it."""
LONGEST = 26
TREES = "boosted trees"
MOST_BESIDE = 4


def curve(facts: TradeoffFacts) -> Figure:
    """A mark and interval for every network; a line joins those that nothing cheaper equals."""
    shown = [group[0] for group in facts.networks if isfinite(group[0].score.value)]
    title = f"What more {cost_words(facts.cost)} buy"
    if not shown:
        return Figure(key="tradeoff", title=title, words=["No network has a value to be drawn."])
    about = "; ".join(_described(facts, member) for member in shown)
    drawing = Drawing(WIDTH, BOTTOM + 44, title, f"{about}.")
    x = Scale.over(
        [value for m in shown for value in (m.used, m.limit)],
        LEFT,
        RIGHT,
        spread=True,
        spread_from=LOG_FROM,
    )
    y = _upwards(facts, shown)
    marks = _limit_marks(facts, x)
    for place, _ in marks:
        drawing.line(place, BOTTOM, place, TOP, "grid")
    shares = (False, facts.metric in SHARES)
    metric = metric_words(facts.metric)
    axes(drawing, x, y, f"limit on {cost_words(facts.cost)}", metric, percent=shares, marks=marks)
    better = "more is better" if facts.greater else "less is better"
    drawing.text(RIGHT, TOP - 10, better, "tick", "end")
    room = Room(Box(LEFT + 2, TOP - 4, WIDTH, BOTTOM - 2))
    points = {member.folder: (x(member.used), y(member.score.value)) for member in shown}
    best = sorted((m for m in shown if m.optimal), key=lambda m: m.used)
    line = [points[m.folder] for m in best]
    drawing.polyline(line, "front")
    room.take_line(line)
    for member in shown:
        _interval(drawing, room, y, member, *points[member.folder])
    _others(drawing, room, facts, y)
    unnamed = _names(drawing, room, facts, shown, points)
    return Figure(
        key="tradeoff",
        title=title,
        words=_words(facts, shown, x, unnamed=unnamed),
        drawings=[drawing],
    )


def _upwards(facts: TradeoffFacts, shown: list[Member]) -> Scale:
    ends = [end for m in shown for end in (m.score.low, m.score.value, m.score.high)]
    finite = [end for end in ends if isfinite(end)]
    low, high = min(finite), max(finite)
    reach = NEAR * (high - low)
    near = [s.value for s in facts.beside.values() if low - reach <= s.value <= high + reach]
    return Scale.over([*finite, *near], BOTTOM, TOP, margin=0.08)


def _limit_marks(facts: TradeoffFacts, x: Scale) -> list[tuple[float, str]]:
    """The limits along the axis, the loosest first, as many as can be read."""
    marks: list[tuple[float, str]] = []
    taken: list[Box] = []
    for limit in sorted({m.limit for m in facts.members}, reverse=True):
        if x.holds(limit):
            text = number(limit)
            half = LETTER * text_width(text) / 2
            box = Box(x(limit) - half - 2, 0, x(limit) + half + 2, 1)
            if not any(box.meets(other) for other in taken):
                taken.append(box)
                marks.append((x(limit), text))
    return marks


def _interval(
    drawing: Drawing, room: Room, y: Scale, member: Member, across: float, up: float
) -> None:
    """The mark of a network, a diamond if it has a bottleneck, on its interval."""
    score = member.score
    ends = [y(end) if y.holds(end) else up for end in (score.low, score.high)]
    if ends[0] != ends[1]:
        drawing.line(across, ends[0], across, ends[1], "whisker")
        for end in ends:
            drawing.line(across - 3, end, across + 3, end, "whisker")
    room.take(Box(across - 4, min(*ends, up), across + 4, max(*ends, up)))
    room.take(Box(across - RADIUS, up - RADIUS, across + RADIUS, up + RADIUS))
    drawing.begin("mark-best" if member.optimal else "mark")
    hint = short(member)
    if member.bottlenecks:
        wide = 1.3 * RADIUS
        corners = [(0, -wide), (wide, 0), (0, wide), (-wide, 0)]
        drawing.polygon([(across + dx, up + dy) for dx, dy in corners], "disc", hint)
    else:
        drawing.circle(across, up, RADIUS, "disc", hint)
    drawing.end()


def _others(drawing: Drawing, room: Room, facts: TradeoffFacts, y: Scale) -> None:
    """A line for each that was judged beside, or an arrow to where it lies."""
    low, high = y.low, y.high
    for name, score in list(facts.beside.items())[:MOST_BESIDE]:
        if not isfinite(score.value):
            continue
        words = f"{cut(name, LONGEST)} {said(facts, score.value)}"
        width = LETTER * text_width(words)
        if y.holds(score.value):
            place = y(score.value)
            drawing.line(LEFT, place, RIGHT, place, "guide")
            room.take_line([(LEFT, place), (RIGHT, place)])
            levels = (place - 9, place + 9)
        else:
            words = f"{'▴' if score.value > high else '▾'} {words}"
            width += 2 * LETTER
            levels = (TOP + 6, TOP + 20) if score.value > high else (BOTTOM - 10, BOTTOM - 24)
        good = (score.value > (low + high) / 2) == facts.greater
        sides = (LEFT + 4, RIGHT - width) if good else (RIGHT - width, LEFT + 4)
        box = room.find(box_of(words, side, level) for side in sides for level in levels)
        if box is not None:
            drawing.text(box.left, box.bottom - 3, words, "tick")


def _names(
    drawing: Drawing,
    room: Room,
    facts: TradeoffFacts,
    shown: list[Member],
    points: dict[str, Point],
) -> int:
    """The architecture beside its mark; returns how many found no room."""
    unnamed = 0
    for member in sorted(shown, key=lambda m: (not m.optimal, m.used)):
        across, up = points[member.folder]
        words = cut(member.architecture, LONGEST)
        box = room.find(around(words, across, up, upwards=not facts.greater))
        if box is None:
            unnamed += 1
            continue
        middle = (box.top + box.bottom) / 2
        nearest = min(max(across, box.left), box.right)
        if abs(nearest - across) > 2 * RADIUS or abs(middle - up) > 4 * RADIUS:
            drawing.line(across, up, nearest, min(max(up, box.top), box.bottom), "axis")
        drawing.text(box.left, box.bottom - 3, words, "label")
    return unnamed


def _described(facts: TradeoffFacts, member: Member) -> str:
    score = member.score
    value, low, high = interval(facts.metric, score.value, score.low, score.high)
    spread = f" ({low} to {high})" if facts.tested else ""
    return (
        f"{short(member)}: {number(member.used)} {cost_words(facts.cost)}, "
        f"{metric_words(facts.metric)} {value}{spread}"
    )


def _words(facts: TradeoffFacts, shown: list[Member], x: Scale, *, unnamed: int) -> list[str]:
    metric = metric_words(facts.metric)
    first = (
        f"Each mark is a network: what it uses, and its {metric} on "
        f"{counted(facts.rows.get('test', 0), 'test row')}, with its 95{PERCENT} interval."
        if facts.tested
        else f"Each mark is a network: what it uses, and its {metric} on rows held out. No rows "
        "were kept for a test, so there are no intervals."
    )
    scale = " Equal steps to the right multiply the cost alike." if x.logarithmic else ""
    said_so = [f"{first} Upright lines are the limits.{scale}"]
    key = ["● joined by the line: nothing cheaper was as good on held-out rows"]
    if any(not m.optimal for m in shown):
        key.append("○ hollow: a cheaper one was as good")
    if any(m.bottlenecks for m in shown):
        key.append(f"◆ diamond: has a bottleneck, {BOTTLENECK_DEFINITION}")
    said_so.append(f"{'; '.join(key)}.")
    if facts.beside:
        said_so.append(_of_others(facts))
    if unnamed:
        said_so.append(f"{counted(unnamed, 'network')} found no room for a name; see the table.")
    return said_so


def _of_others(facts: TradeoffFacts) -> str:
    values = [f"{n} {said(facts, s.value)}" for n, s in list(facts.beside.items())[:MOST_BESIDE]]
    compared = (
        f"For comparison: {listed(values)}; a dashed line is such a value, an arrow says that it "
        "lies outside. Trivial is what one can say without looking at a row."
    )
    trees = facts.beside.get(TREES)
    if trees is None:
        return compared
    equals = sorted(
        (m for m in facts.members if facts.as_good(m.score, trees)), key=lambda m: m.used
    )
    reached = (
        f"{short(equals[0])} is the cheapest network within their interval, or better."
        if equals
        else "no network comes within their interval."
    )
    return f"{compared} Boosted trees keep no limit; {reached}"
