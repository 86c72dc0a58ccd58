"""The teacher of a run, and what it is worth to the network, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.formatting import (
    PERCENT,
    capitalize_first,
    format_count,
    format_fixed_percent,
    format_percent,
    format_score,
    greater_is_better,
    join_words,
    metric_label,
)
from tabnas.results import TEACHER, RunResult, TeacherDistance, TeacherModel, TeacherSummary

MODEL_NAMES = {"trees": "boosted trees", "network": "a wide network"}
FEW_ROWS = 1_000
"""With fewer test rows, differences between similar models are mostly chance."""


def name_model(model: TeacherModel) -> str:
    """Return the name of a teacher that people know."""
    return MODEL_NAMES.get(model.name, model.name)


def name_loss(result: RunResult) -> str:
    """Return the loss that the models of a teacher are compared by."""
    if result.target.task == "regression":
        return "mean squared error of the scaled target"
    return "log loss"


def describe_models(models: Sequence[TeacherModel]) -> str:
    """Return a sentence with the models of a teacher and their shares."""
    if len(models) == 1:
        return f"The teacher, which has no limit, is {name_model(models[0])}."
    listed = [f"{name_model(model)} ({format_percent(model.share)})" for model in models]
    return f"The teacher, which has no limit, is a blend of {join_words(listed)}."


def describe_answers(result: RunResult, teacher: TeacherSummary) -> str:
    """Return which rows the models of a run learned from; empty for those of the user."""
    if any(model.name not in MODEL_NAMES for model in teacher.models):
        return ""
    start = "Every training row was answered by models that had not learned from it (out of fold)."
    if not result.is_cross_validated:
        return f"{start} None of them learned from validation or test rows."
    return (
        f"{start} For a network that is validated on a fold, they had not learned from that fold, "
        "either. None of them learned from test rows."
    )


def describe_share(result: RunResult, teacher: TeacherSummary) -> str:
    """Return a sentence with what the network has learned from."""
    where = _name_validation(result)
    if not teacher.share:
        return f"Labels alone were better {where}, so the network learned from them alone."
    rows = ", also on rows without a label" if teacher.uses_unlabelled else ""
    return (
        f"The network learned from {format_percent(teacher.share)} the teacher's answers and "
        f"{format_percent(1 - teacher.share)} the labels{rows}; that was best {where}."
    )


def describe_validation(result: RunResult, teacher: TeacherSummary) -> str:
    """Return a sentence with the score that chose the network, and that of labels alone."""
    score, metric = format_score(result.metric, teacher.score), metric_label(result.metric)
    text = f"{capitalize_first(_name_validation(result))} the {metric} of the network is {score}"
    if not teacher.share:
        taught = [c.score for c in result.candidates if c.teacher_share]
        same = [
            c.score
            for c in result.candidates
            if c.teacher_share and c.architecture == result.architecture
        ]
        if not (same or taught):
            return f"{text}."
        best = format_score(result.metric, _find_best(result, same or taught))
        which = "the same architecture" if same else "the best network"
        shorter = ", in a shorter training" if result.candidates[0].is_longer else ""
        return f"{text}; {which} with a teacher has {best}{shorter}."
    if teacher.score_without is None:
        return f"{text}."
    without = format_score(result.metric, teacher.score_without)
    return f"{text}, and {without} without teacher."


def describe_distance(result: RunResult) -> str:
    """Return how much of the distance to the teacher the network covers, on test rows."""
    teacher, distance = result.teacher, result.teacher_distance
    if teacher is None or distance is None:
        return ""
    rows = format_count(result.rows.test, "test row")
    score = format_score(result.metric, result.scores[TEACHER][result.metric].value)
    start = f"On the {rows} the {metric_label(result.metric)} of the teacher is {score}."
    if not teacher.share:
        verb = "better" if distance.teacher < distance.network else "no better"
        text = f"{start} That is {verb} than the network."
    elif distance.outcome == "none":
        text = (
            f"{start} That is hardly better than the network without it, or not at all, so there "
            "is no distance to cover."
        )
    elif distance.outcome == "worse":
        text = f"{start} There the network is worse than without it."
    elif distance.outcome == "beyond":
        text = f"{start} The network covers the whole distance to it, and is beyond it."
    else:
        text = (
            f"{start} From the network without teacher to it, the network covers "
            f"{_format_covered(distance.covered)} of the distance."
        )
    few = " On so few rows this may be chance." if result.rows.test < FEW_ROWS else ""
    return text + few


def summarize_teacher(result: RunResult) -> str:
    """Return the teacher in one line: its models, and how close the network came to it.

    The shares are those of the blend.
    """
    teacher, distance = result.teacher, result.teacher_distance
    if teacher is None:
        return ""
    return "; ".join(
        filter(None, [list_models(teacher.models), _summarize_outcome(teacher, distance)])
    )


def list_models(models: Sequence[TeacherModel]) -> str:
    """Return the models of a teacher with their shares, for a terminal.

    >>> list_models([TeacherModel(name="trees", share=1.0, out_of_fold_loss=0.5)])
    'trees'
    """
    if len(models) == 1:
        return models[0].name
    return ", ".join(f"{model.name} {format_fixed_percent(model.share)}" for model in models)


def _summarize_outcome(teacher: TeacherSummary, distance: TeacherDistance | None) -> str:
    if not teacher.share:
        return "labels alone were better"
    if distance is None:
        return f"{format_fixed_percent(teacher.share)} of what the network learned from"
    if distance.outcome == "part":
        return f"covers {format_fixed_percent(distance.covered)} of the distance to it"
    return {
        "none": "hardly better than the network without it",
        "worse": "the network is worse than without it on test rows",
        "beyond": "the network is beyond it",
    }[distance.outcome]


def _format_covered(share: float) -> str:
    return f"{100 * share:.0f}{PERCENT}"


def _find_best(result: RunResult, scores: Sequence[float]) -> float:
    return max(scores) if greater_is_better(result.metric) else min(scores)


def _name_validation(result: RunResult) -> str:
    return f"in {result.chosen_by}" if result.is_cross_validated else "on the validation rows"
