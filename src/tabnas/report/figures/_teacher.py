"""Who taught the network, and how close it came to its teacher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from tabnas.formatting import (
    PERCENT_METRICS,
    capitalize_first,
    format_number,
    format_percent,
    format_score,
    greater_is_better,
    metric_label,
)
from tabnas.report._chart import WIDTH, Scale, tick_labels
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.report._teacher_text import (
    describe_answers,
    describe_distance,
    describe_models,
    describe_share,
    describe_validation,
    name_loss,
    name_model,
)
from tabnas.results import TEACHER, WITHOUT_TEACHER, RunResult, Score, TeacherSummary

LEFT, RIGHT, MIDDLE = 14.0, WIDTH - 14.0, WIDTH / 2
HEAD, FOOT, LINE = 30.0, 26.0, 17.0
NETWORK, TREES = "network", "boosted trees"


@dataclass(frozen=True)
class _Mark:
    """A model on the axis."""

    name: str
    value: float
    text: str


def draw_teacher(result: RunResult) -> list[Figure]:
    """Draw who the teacher is, and the distance to it; nothing if there was none."""
    if result.teacher is None:
        return []
    return [_draw_distance(result, result.teacher), _draw_models(result, result.teacher)]


def _draw_distance(result: RunResult, teacher: TeacherSummary) -> Figure:
    title = "What the teacher is worth"
    paragraphs = [
        describe_share(result, teacher),
        describe_validation(result, teacher),
        describe_distance(result),
    ]
    marks = _list_marks(result)
    is_drawn = {NETWORK, TEACHER} <= {mark.name for mark in marks}
    return Figure(
        key="teacher-distance",
        title=title,
        paragraphs=list(filter(None, paragraphs)),
        drawings=[_draw(result, marks, title)] if is_drawn else [],
        table=_score_table(result, teacher),
    )


def _draw_models(result: RunResult, teacher: TeacherSummary) -> Figure:
    rows = [
        [
            capitalize_first(name_model(model)),
            format_percent(model.share),
            format_number(model.out_of_fold_loss),
        ]
        for model in teacher.models
    ]
    return Figure(
        key="teacher-models",
        title="Who taught",
        paragraphs=[f"{describe_models(teacher.models)} {describe_answers(result, teacher)}"],
        table=Table(
            title="The models of the teacher",
            headings=["Model", "Share", "Out-of-fold loss"],
            rows=rows,
            note=f"The loss is the {name_loss(result)}.",
        ),
    )


def _list_marks(result: RunResult) -> list[_Mark]:
    """Return the models with a test score, in the order of the text."""
    marks = []
    for name in (WITHOUT_TEACHER, NETWORK, TEACHER, TREES):
        score = _test_score(result, name)
        if score is not None and isfinite(score.value):
            text = f"{name} {format_score(result.metric, score.value)}"
            marks.append(_Mark(name, score.value, text))
    return marks


def _draw(result: RunResult, marks: Sequence[_Mark], title: str) -> Drawing:
    """Draw the models on one axis: names of the left half are above it, the others below."""
    x = Scale.from_values([mark.value for mark in marks], LEFT, RIGHT, margin=0.08)
    ordered = sorted(marks, key=lambda mark: mark.value)
    above = [mark for mark in ordered if x(mark.value) <= MIDDLE]
    below = [mark for mark in ordered if x(mark.value) > MIDDLE]
    axis = HEAD + LINE * len(above) + 10
    bottom = axis + 12 + LINE * len(below)
    about = f"{metric_label(result.metric)}: {', '.join(mark.text for mark in marks)}."
    drawing = Drawing(WIDTH, bottom + FOOT, title, capitalize_first(about))
    better = "more is better" if greater_is_better(result.metric) else "less is better"
    drawing.text(0, 15, f"{metric_label(result.metric)} on test rows", "strong")
    drawing.text(WIDTH, 15, better, "tick", "end")
    for at, text in tick_labels(x, 4, percent=result.metric in PERCENT_METRICS):
        drawing.line(at, HEAD, at, bottom, "grid")
        drawing.text(at, bottom + 15, text, "tick", "middle")
    drawing.line(LEFT, axis, RIGHT, axis, "axis")
    _draw_way(drawing, {mark.name: x(mark.value) for mark in marks}, axis)
    # a name beside its line never crosses the line of another: the outermost is farthest away
    for k, mark in enumerate(above):
        base = HEAD + LINE * (k + 1)
        drawing.line(x(mark.value), base - 9, x(mark.value), axis, "axis")
        drawing.text(x(mark.value) + 5, base, mark.text, _text_class(mark))
    for k, mark in enumerate(below):
        base = axis + 12 + LINE * (k + 0.6)
        drawing.line(x(mark.value), axis, x(mark.value), base, "axis")
        drawing.text(x(mark.value) - 5, base, mark.text, _text_class(mark), "end")
    for mark in marks:
        _draw_mark(drawing, mark, x(mark.value), axis)
    return drawing


def _draw_way(drawing: Drawing, at: dict[str, float], axis: float) -> None:
    """Draw the way from the network without teacher to the network."""
    if WITHOUT_TEACHER in at:
        drawing.line(at[WITHOUT_TEACHER], axis, at[NETWORK], axis, "main-line")


def _draw_mark(drawing: Drawing, mark: _Mark, x: float, y: float) -> None:
    if mark.name == NETWORK:
        drawing.circle(x, y, 6, "main", mark.text)
    elif mark.name == WITHOUT_TEACHER:
        drawing.begin_group("mark")
        drawing.circle(x, y, 5, "disc", mark.text)
        drawing.end_group()
    else:
        drawing.square(x, y, 5, "other" if mark.name == TEACHER else "muted-fill", mark.text)


def _text_class(mark: _Mark) -> str:
    return "small-strong" if mark.name == NETWORK else "small"


def _score_table(result: RunResult, teacher: TeacherSummary) -> Table:
    """Return the scores with and without teacher, on validation and on test rows."""

    def format_test(name: str) -> str:
        score = _test_score(result, name)
        return "" if score is None else format_score(result.metric, score.value)

    validation = {NETWORK: format_score(result.metric, teacher.score)}
    if teacher.share and teacher.score_without is not None:
        validation[WITHOUT_TEACHER] = format_score(result.metric, teacher.score_without)
    names = [NETWORK, *([WITHOUT_TEACHER] if teacher.share else []), TEACHER, TREES]
    rows = [
        [capitalize_first(name), validation.get(name, ""), format_test(name)]
        for name in names
        if name in validation or format_test(name)
    ]
    where = capitalize_first(result.chosen_by)
    return Table(
        title="Network and teacher in numbers",
        headings=[capitalize_first(metric_label(result.metric)), where, "Test rows"],
        rows=rows,
    )


def _test_score(result: RunResult, name: str) -> Score | None:
    scores: Mapping[str, Score] = result.scores.get(name, {})
    return scores.get(result.metric)
