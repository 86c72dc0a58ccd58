"""Scores on test rows: of the network, of boosted trees and of a trivial predictor."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from tabnas.formatting import (
    PERCENT_METRICS,
    format_interval,
    format_score,
    greater_is_better,
    isolate,
    metric_label,
)
from tabnas.report._chart import WIDTH, Scale, tick_labels
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.results import TEACHER, WITHOUT_TEACHER, RunResult, Score

ROW_HEIGHT, HEAD, FOOT = 19, 26, 30
LEFT, RIGHT = 104, WIDTH - 8
NETWORK, TRIVIAL, TREES = "network", "trivial", "boosted trees"
ORDER = (NETWORK, WITHOUT_TEACHER, TEACHER, TREES, TRIVIAL)
SHORT_NAMES = {WITHOUT_TEACHER: "without teacher"}
MAX_MODELS = 6


def draw_scores(result: RunResult) -> Figure:
    """Draw for every metric the score and interval of each model."""
    notes = [f"Note: {note}." for note in result.notes]
    if NETWORK not in result.scores:
        return Figure(key="scores", title="Scores", paragraphs=[_explain_absence(result), *notes])
    scores = dict(list(result.scores.items())[:MAX_MODELS])
    models = [name for name in ORDER if name in scores]
    models += [name for name in scores if name not in models]
    metrics = {
        metric: {model: scores[model][metric] for model in models if metric in scores[model]}
        for metric in scores[NETWORK]
    }
    texts = {
        metric: {model: _format(metric, score) for model, score in by_model.items()}
        for metric, by_model in metrics.items()
    }
    described = [
        f"{metric_label(metric)}: {', '.join(f'{n} {text}' for n, text in by_model.items())}"
        for metric, by_model in texts.items()
    ]
    height = HEAD + ROW_HEIGHT * len(models) + FOOT
    about = ". ".join(described)
    drawing = Drawing(WIDTH, max(1, len(metrics)) * height, "Scores with intervals", about)
    for k, (metric, by_model) in enumerate(metrics.items()):
        _draw_metric(drawing, metric, by_model, k * height)
    rows = [
        [metric_label(metric), *(by_model.get(model, "") for model in models)]
        for metric, by_model in texts.items()
    ]
    return Figure(
        key="scores",
        title="Scores on rows it had never seen",
        paragraphs=[*_describe(result, metrics.get(result.metric, {})), *notes],
        drawings=[drawing] if metrics else [],
        table=Table(title="Scores in numbers", headings=["Metric", *models], rows=rows),
    )


def _draw_metric(drawing: Drawing, metric: str, scores: Mapping[str, Score], top: float) -> None:
    better = "more is better" if greater_is_better(metric) else "less is better"
    drawing.text(0, top + 15, metric_label(metric), "strong")
    drawing.text(WIDTH, top + 15, better, "tick", "end")
    # the trivial predictor is often so bad that the others could not be distinguished
    near = [score for name, score in scores.items() if name != TRIVIAL] or list(scores.values())
    ends = [end for score in near for end in (score.low, score.value, score.high)]
    x = Scale.from_values(ends, LEFT, RIGHT, margin=0.15)
    bottom = top + HEAD + ROW_HEIGHT * len(scores)
    for at, text in tick_labels(x, 4, percent=metric in PERCENT_METRICS):
        drawing.line(at, top + HEAD - 2, at, bottom, "grid")
        drawing.text(at, bottom + 14, text, "tick", "middle")
    for row, (name, score) in enumerate(scores.items()):
        middle = top + HEAD + ROW_HEIGHT * (row + 0.5)
        drawing.text(0, middle + 4, SHORT_NAMES.get(name, name), "label")
        _draw_score(drawing, x, metric, score, middle, "main" if name == NETWORK else "other")


def _draw_score(
    drawing: Drawing, x: Scale, metric: str, score: Score, middle: float, css_class: str
) -> None:
    value = format_score(metric, score.value)
    if not isfinite(score.value):
        drawing.text(LEFT, middle + 4, value, "tick")
    elif score.value < x.low:
        drawing.text(LEFT, middle + 4, f"◂ {value}", "tick")
    elif score.value > x.high:
        drawing.text(RIGHT, middle + 4, f"{value} ▸", "tick", "end")
    else:
        low = score.low if x.contains(score.low) else x.low
        high = score.high if x.contains(score.high) else x.high
        drawing.line(x(low), middle, x(high), middle, f"{css_class}-line")
        tooltip = _format(metric, score)
        if css_class == "main":
            drawing.circle(x(score.value), middle, 4.5, css_class, tooltip)
        else:
            drawing.square(x(score.value), middle, 4, css_class, tooltip)


def _format(metric: str, score: Score) -> str:
    value, low, high = format_interval(metric, score.value, score.low, score.high)
    return f"{value} ({low} to {high})"


def _describe(result: RunResult, scores: Mapping[str, Score]) -> list[str]:
    use = (
        "used for these scores, then for training the final weights"
        if result.is_refitted
        else "used for nothing else"
    )
    paragraphs = [
        f"On {result.rows.test:,} test rows, which were {use}. A mark is the score, the line its "
        "95 % interval; an arrow points to a score outside of the figure.",
        "Trivial is the best prediction without looking at a row.",
    ]
    if NETWORK in scores and TREES in scores:
        comparison = _compare(result.metric, scores[NETWORK], scores[TREES])
        paragraphs.append(f"Boosted trees have no limit. {comparison}")
    if TEACHER in scores:
        paragraphs.append("The teacher has no limit, either; the section on it says who it was.")
    if WITHOUT_TEACHER in scores:
        paragraphs.append("Without teacher is the same network, trained by labels alone.")
    return paragraphs


def _compare(metric: str, network: Score, trees: Score) -> str:
    name = metric_label(metric)
    if network.low <= trees.high and trees.low <= network.high:
        return f"By {name} the two intervals overlap: these rows do not tell which is better."
    is_ahead = (network.value > trees.value) == greater_is_better(metric)
    return f"By {name} {'the network is' if is_ahead else 'they are'} clearly better."


def _explain_absence(result: RunResult) -> str:
    if result.rows.test:
        return "The network could not be scored on the test rows."
    return (
        "No rows were held out for a test, so there is no unbiased score. Candidates were chosen "
        f"by {isolate(result.chosen_by)}; their scores there are a little too good."
    )
