"""Scores on test rows, beside those of others."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from tabnas.report._chart import WIDTH, Scale, marked
from tabnas.report._facts import RunFacts, Score
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.report._words import (
    SHARES,
    greater_is_better,
    interval,
    isolated,
    listed,
    measured,
    metric_words,
)

ROW = 19
HEAD = 26
FOOT = 30
LEFT = 104
RIGHT = WIDTH - 8
NETWORK, TRIVIAL, TREES = "network", "trivial", "boosted trees"
MOST_JUDGED = 6


def scores(facts: RunFacts) -> Figure:
    """For every metric a line for each that was judged: a dot and its interval."""
    notes = [f"Note: {note}." for note in facts.notes]
    if NETWORK not in facts.scores:
        return Figure(key="scores", title="Scores", words=[_why_none(facts), *notes])
    judged = dict(list(facts.scores.items())[:MOST_JUDGED])
    names = [n for n in (NETWORK, TREES, TRIVIAL) if n in judged]
    names += [n for n in judged if n not in names]
    metrics = list(judged[NETWORK])
    height = HEAD + ROW * len(names) + FOOT
    described = [
        f"{metric_words(m)}: "
        + ", ".join(f"{n} {_said(m, judged[n][m])}" for n in names if m in judged[n])
        for m in metrics
    ]
    drawing = Drawing(
        WIDTH, max(1, len(metrics)) * height, "Scores with intervals", ". ".join(described)
    )
    for k, metric in enumerate(metrics):
        found = {name: judged[name][metric] for name in names if metric in judged[name]}
        _panel(drawing, metric, found, k * height)
    rows = [
        [metric_words(m), *(_said(m, judged[n][m]) if m in judged[n] else "" for n in names)]
        for m in metrics
    ]
    return Figure(
        key="scores",
        title="Scores on rows it had never seen",
        words=[*_words(facts, judged), *notes],
        drawings=[drawing] if metrics else [],
        table=Table(title="Scores in numbers", headings=["Metric", *names], rows=rows),
    )


def _panel(drawing: Drawing, metric: str, found: Mapping[str, Score], top: float) -> None:
    better = "more is better" if greater_is_better(metric) else "less is better"
    drawing.text(0, top + 15, metric_words(metric), "strong")
    drawing.text(WIDTH, top + 15, better, "tick", "end")
    # the trivial predictor is often so far off that nothing else could be told apart
    near = [s for name, s in found.items() if name != TRIVIAL] or list(found.values())
    ends = [end for score in near for end in (score.low, score.value, score.high)]
    scale = Scale.over(ends, LEFT, RIGHT, margin=0.15)
    bottom = top + HEAD + ROW * len(found)
    for place, text in marked(scale, 4, percent=metric in SHARES):
        drawing.line(place, top + HEAD - 2, place, bottom, "grid")
        drawing.text(place, bottom + 14, text, "tick", "middle")
    for row, (name, score) in enumerate(found.items()):
        middle = top + HEAD + ROW * (row + 0.5)
        drawing.text(0, middle + 4, name, "label")
        _interval(drawing, scale, metric, score, middle, "main" if name == NETWORK else "other")


def _interval(
    drawing: Drawing, scale: Scale, metric: str, score: Score, middle: float, kind: str
) -> None:
    if not isfinite(score.value):
        drawing.text(LEFT, middle + 4, measured(metric, score.value), "tick")
    elif not scale.holds(score.value):
        left = score.value < scale.low
        words = measured(metric, score.value)
        arrow = f"◂ {words}" if left else f"{words} ▸"
        drawing.text(LEFT if left else RIGHT, middle + 4, arrow, "tick", "start" if left else "end")
    else:
        low = score.low if scale.holds(score.low) else scale.low
        high = score.high if scale.holds(score.high) else scale.high
        drawing.line(scale(low), middle, scale(high), middle, f"{kind}-line")
        place = scale(score.value), middle
        if kind == "main":
            drawing.circle(*place, 4.5, kind, _said(metric, score))
        else:
            drawing.square(*place, 4, kind, _said(metric, score))


def _said(metric: str, score: Score) -> str:
    value, low, high = interval(metric, score.value, score.low, score.high)
    return f"{value} ({low} to {high})"


def _words(facts: RunFacts, judged: Mapping[str, Mapping[str, Score]]) -> list[str]:
    said = [
        f"On {facts.rows.get('test', 0):,} test rows that nothing was learned from or chosen by. A "
        "mark is the score, the line its 95 % interval; an arrow points to what lies outside.",
        "Trivial is what one can say without looking at a row.",
    ]
    mine = judged[NETWORK].get(facts.metric)
    trees = judged.get(TREES, {}).get(facts.metric)
    if mine is not None and trees is not None:
        said.append(f"Boosted trees keep no limit. {_compared(facts.metric, mine, trees)}")
    return said


def _compared(metric: str, mine: Score, trees: Score) -> str:
    name = metric_words(metric)
    if mine.low <= trees.high and trees.low <= mine.high:
        return f"By {name} the two intervals overlap: these rows do not tell which is better."
    ahead = (mine.value > trees.value) == greater_is_better(metric)
    return f"By {name} {'the network is' if ahead else 'they are'} clearly ahead."


def _why_none(facts: RunFacts) -> str:
    if facts.rows.get("test"):
        return "The network could not be judged on the test rows."
    others = listed([isolated(facts.chosen_by)])
    return (
        f"No rows were kept for a test, so there is no fair score. Candidates were chosen by "
        f"{others}; what they scored there is a little too good to be true."
    )
