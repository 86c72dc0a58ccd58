"""Whether the search's estimates foretold what candidates do when they are trained alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isfinite

from tabnas.report._chart import WIDTH, Scale, axes
from tabnas.report._facts import RunFacts
from tabnas.report._figure import Figure
from tabnas.report._svg import Drawing
from tabnas.report._words import SHARES, counted, greater_is_better, metric_words
from tabnas.report.figures._scatter import marks

LEFT, RIGHT, TOP, BOTTOM = 56.0, WIDTH - 16.0, 34.0, 230.0
FEWEST = 2


def one_shot_calibration(facts: RunFacts) -> Figure:
    """One-shot loss across, result of the stand-alone training upwards."""
    title = "Estimates of the search against the truth"
    places = [(c.one_shot_loss, c.result) for c in facts.candidates]
    finite = [place for place in places if all(map(isfinite, place))]
    if len(finite) < FEWEST:
        why = "There are too few candidates to compare estimates with results."
        return Figure(key="estimates", title=title, words=[why])
    x = Scale.over([a for a, _ in finite], LEFT, RIGHT, spread=True)
    y = Scale.over([b for _, b in finite], BOTTOM, TOP, spread=True, margin=0.1)
    agreed, pairs = agreement(finite, greater=greater_is_better(facts.metric))
    about = f"{agreed} of {counted(pairs, 'pair')} in the same order."
    drawing = Drawing(WIDTH, BOTTOM + 44, title, about)
    across, up = "one-shot loss, in the search", f"{metric_words(facts.metric)}, alone"
    axes(drawing, x, y, across, up, percent=(False, facts.metric in SHARES))
    marks(drawing, facts.candidates, places, x, y)
    words = [
        "During the search networks share one set of weights, so a loss is there at once, but "
        "only an estimate: one-shot. Trained alone, a network shows what it is worth. Both "
        "are in units of their own; what counts is whether they put networks in the same order.",
        f"Of {counted(pairs, 'pair')} of candidates, {agreed:,} "
        f"{'is' if agreed == 1 else 'are'} in the same order in both."
        " That is why candidates are trained alone before one of them is chosen.",
    ]
    left = len(places) - len(finite)
    if left:
        words.append(f"Left out: {counted(left, 'candidate')} without a finite estimate or result.")
    if x.logarithmic or y.logarithmic:
        words.append("Where values differ by orders of magnitude, the axis is logarithmic.")
    return Figure(key="estimates", title=title, words=words, drawings=[drawing])


def agreement(places: Sequence[tuple[float, float]], *, greater: bool) -> tuple[int, int]:
    """How many pairs have the same order by estimate and by result, of how many that differ.

    >>> agreement([(1.0, 0.1), (2.0, 0.2), (3.0, 0.15)], greater=False)
    (2, 3)
    """
    sign = -1 if greater else 1
    pairs = [
        (a[0] - b[0]) * sign * (a[1] - b[1]) > 0
        for a, b in combinations(places[:1_000], 2)
        if a[0] != b[0] and a[1] != b[1]
    ]
    return sum(pairs), len(pairs)
