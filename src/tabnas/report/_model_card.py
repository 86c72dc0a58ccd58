"""The model card of a run: what the model is, its intended use, its scores and limitations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabnas.formatting import (
    cost_label,
    format_count,
    format_interval,
    format_number,
    format_percent,
    format_score,
    greater_is_better,
    join_words,
    metric_label,
    sanitize_texts,
    shorten,
)
from tabnas.report._c_size_text import C_SIZE_HEADINGS, describe_c_size, list_c_sizes
from tabnas.report._calibration_text import name_calibration_rows
from tabnas.report._commands import PREDICT, render_repetition, render_usage_code
from tabnas.report._latency_text import describe_latency
from tabnas.report._limitations import is_dropped, list_limitations
from tabnas.report._markdown import bullets, code_block, escape, join_names, table
from tabnas.report._rounding_text import describe_rounding
from tabnas.report._run_config import RunConfig, decode_config
from tabnas.report._run_page import format_headline, format_main_scores
from tabnas.report._teacher_text import (
    describe_answers,
    describe_distance,
    describe_models,
    describe_share,
    describe_validation,
    name_loss,
    name_model,
)
from tabnas.results import TEACHER, RunResult
from tabnas.space import Precision

TO_FILL_IN = "**To fill in:**"
EXPORT = "tabnas export . model.onnx"
EXPORT_C = "tabnas export . --c firmware"
MAX_COLUMNS = 500
MAX_IMPORTANCES = 10
PAPER = "https://arxiv.org/abs/2203.05556"
TASKS = {
    "binary": "one of two classes",
    "multiclass": "one of several classes",
    "regression": "a number",
}


def render_card(result: RunResult, config: Mapping[str, Any]) -> str:
    """Return the model card of a run as Markdown.

    The texts of the result and of `config.toml` are untrusted: they are sanitized and escaped
    here. Marked lines are left for people to fill in.
    """
    source, target = decode_config(config), result.target
    result = sanitize_texts(result)
    sections = {
        "What it is": _describe_model(result),
        "Intended use": _describe_use(result),
        "Data": _describe_data(result, source),
        "Metrics": _describe_metrics(result),
        "Teacher": _describe_teacher(result),
        "What it relies on": _describe_importance(result),
        "Limitations": bullets(list_limitations(result)),
        "How it was trained": _describe_training(result),
        "How to use it": _describe_usage(result),
        "How to repeat it": _describe_repetition(
            result, render_repetition(source, target.name, target.task)
        ),
        "Licence and contact": f"{TO_FILL_IN} under which licence the model may be used, and whom "
        "to ask about it.",
    }
    parts = [f"# Model card: predicting {escape(result.target.name)}"]
    parts += [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    return "\n\n".join(parts) + "\n"


def _describe_model(result: RunResult) -> str:
    plan, inputs = result.plan, result.plan.input_width(result.architecture)
    embedded = (
        f", {plan.embedding_parameters:,} of its parameters in embeddings of categories"
        if plan.embedding_parameters
        else ""
    )
    rows = [
        (
            cost_label(name),
            format_number(cost.value),
            "none" if cost.limit is None else format_number(cost.limit),
            format_percent(cost.share) if cost.limit else "",
        )
        for name, cost in result.costs.items()
    ]
    return "\n\n".join(
        [
            f"{escape(format_headline(result))} {escape(format_main_scores(result))}",
            f"A feed-forward network with {format_count(inputs, 'input')} and "
            f"{format_count(plan.outputs, 'output')}{embedded}, found and trained by tabnas "
            f"{escape(result.versions.get('tabnas', ''))}.",
            *_describe_numeric_embeddings(result),
            *([sentence] if (sentence := describe_rounding(result)) else []),
            table(["Cost", "Value", "Limit", "Share"], rows),
            *([f"Measured: {escape(text)}."] if (text := describe_latency(result)) else []),
            "Every limit holds." if result.is_within_limits else "**A limit does not hold.**",
            *_describe_c_size(result),
        ]
    )


def _describe_c_size(result: RunResult) -> list[str]:
    """Return a paragraph and a table on the size as C, if the run has measured it."""
    if result.c_size is None:
        return []
    rows = list_c_sizes(result.c_size)
    return [escape(describe_c_size(result.c_size)), table(C_SIZE_HEADINGS, rows)]


def _describe_numeric_embeddings(result: RunResult) -> list[str]:
    """Return a paragraph on how numbers are embedded, if the network embeds them."""
    plan, architecture = result.plan, result.architecture
    if not architecture.dimension or not plan.embedded_columns:
        return []
    columns = format_count(plan.embedded_columns, "numeric column")
    which = f"each of the {columns}" if plan.embedded_columns > 1 else "the numeric column"
    numbers = format_count(architecture.dimension, "learned number")
    per_column = round(plan.knots / plan.embedded_columns)
    about = "" if per_column * plan.embedded_columns == plan.knots else "about "
    parameters = format_count(plan.numeric_embedding_parameters(architecture), "parameter")
    return [
        f"Besides its value, {which} is read as {numbers} between {about}{per_column:,} knots: "
        "piecewise-linear embeddings (Gorishniy et al. 2022, "
        f"[On Embeddings for Numerical Features in Tabular Deep Learning]({PAPER})), "
        f"{parameters} in all. The d{architecture.dimension} at the beginning of the network's "
        "name stands for it."
    ]


def _describe_use(result: RunResult) -> str:
    used = [name for name, encoding in result.columns.items() if not is_dropped(encoding)]
    items = [
        f"Predicts the column {escape(result.target.name)} ({TASKS[result.target.task]}) of a row "
        f"from {format_count(len(used), 'column')}: {join_names(used)}.",
    ]
    if result.target.classes:
        classes = join_names([shorten(label) for label in result.target.classes])
        items.append(f"Its predictions are {classes}, with a probability for each.")
    items += [
        "It is meant for rows like those of the table below. It was not tested on others.",
        f"{TO_FILL_IN} by whom and for what it is to be used, and for what it must not be used.",
    ]
    return bullets(items)


def _describe_data(result: RunResult, source: RunConfig) -> str:
    name = source.data.name if source.data else ""
    rows = [
        (split, f"{getattr(result.rows, split):,}", purpose)
        for split, purpose in _split_purposes(result).items()
    ]
    columns = list(result.columns.items())
    parts = [
        f"The table {escape(name)}." if name else "A table that was given in Python.",
        table(["Split", "Rows", "Used"], rows),
        f"The final weights were trained on {format_count(result.final_fit_rows, 'row')}.",
        _describe_split(source, has_test=bool(result.rows.test)),
        "The encoding of each column was learned from training rows, and is the same for every row "
        "that is predicted, missing values included.",
        table(["Column", "Encoding"], columns[:MAX_COLUMNS]),
    ]
    if len(columns) > MAX_COLUMNS:
        left = format_count(len(columns) - MAX_COLUMNS, "more column")
        parts.append(f"{left} are in `result.json`.")
    parts.append(f"{TO_FILL_IN} where the rows come from, from when, and who is among them.")
    return "\n\n".join(filter(None, parts))


def _split_purposes(result: RunResult) -> dict[str, str]:
    """Return what the rows of each split were used for."""
    if result.is_cross_validated:
        training = validation = "for training and validation in turns; final weights: all of them"
    else:
        training, validation = "for training", "to choose the network"
    test = "for the scores below only"
    if result.is_refitted:
        if not result.is_cross_validated:
            validation += "; then for training the final weights"
        test = "for the scores below; then for training the final weights"
    return {"training": training, "validation": validation, "test": test}


def _describe_split(source: RunConfig, *, has_test: bool) -> str:
    """Return how the rows were split."""
    if "validation" in source.separate:
        return "The validation rows came as a separate table."
    split, column = (source.settings.get(name) for name in ("split", "split_column"))
    by = escape(shorten(column))
    separate = [
        name
        for name in ("validation", "test")
        if source.data is not None and getattr(source.data, name)
    ]
    latest = "test rows" if has_test and "test" not in separate else "validation rows"
    ways = {
        "time": f"Rows were split by time, by the column {by}: the latest are the {latest}.",
        "group": f"Rows of one group, by the column {by}, are in the same split."
        if column is not None
        else "Rows of one group are in the same split; the groups were given in Python.",
        "random": "Rows were split at random.",
    }
    sentences = [ways.get(split, "") if isinstance(split, str) and len(separate) < 2 else ""]
    if separate:
        files = "a separate file" if len(separate) == 1 else "separate files"
        sentences.append(f"The {join_words(separate)} rows came as {files}.")
    return " ".join(filter(None, sentences))


def _describe_metrics(result: RunResult) -> str:
    metric = escape(metric_label(result.metric))
    if not result.scores:
        text = "No rows were held out for a test."
        if not result.candidates:
            return text
        score = format_score(result.metric, result.candidates[0].score)
        return (
            f"{text} By {escape(result.chosen_by)}, which also chose it, its {metric} is {score}; "
            "that is more optimistic than a test would be."
        )
    teacher = " and the *teacher*" if TEACHER in result.scores else ""
    rows = []
    for name in dict.fromkeys(name for scores in result.scores.values() for name in scores):
        better = "greater" if greater_is_better(name) else "less"
        cells = [_format_score(result, model, name) for model in result.scores]
        rows.append([f"{metric_label(name)} ({better} is better)", *cells])
    parts = [
        f"On {format_count(result.rows.test, 'test row')}, with 95 % intervals. *Trivial* knows "
        f"only the distribution of the target; *boosted trees*{teacher} have no limit.",
        table(["Metric", *map(escape, result.scores)], rows),
        _describe_errors(result),
    ]
    return "\n\n".join(filter(None, parts))


def _format_score(result: RunResult, model: str, metric: str) -> str:
    score = result.scores[model].get(metric)
    if score is None:
        return ""
    value, low, high = format_interval(metric, score.value, score.low, score.high)
    return f"{value} ({low} to {high})"


def _describe_errors(result: RunResult) -> str:
    """Return the calibration of probabilities, or the distribution of errors."""
    diagnostics = result.diagnostics
    if diagnostics is None:
        return ""
    where = f"On the {diagnostics.split} rows"
    if diagnostics.reliability is not None:
        error = format_percent(diagnostics.reliability.calibration_error)
        return (
            f"{where} predicted probabilities differ from observed frequencies by {error} on "
            "average over ten groups of rows (expected calibration error), after temperature "
            f"scaling {name_calibration_rows(result)}."
        )
    if diagnostics.residuals is not None:
        quantiles = diagnostics.residuals.quantiles_by_level
        spans = [(0.25, 0.75, "half of"), (0.025, 0.975, "95 % of")]
        parts = [
            f"{share} the errors (true - predicted) lie from {format_number(quantiles[low])} to "
            f"{format_number(quantiles[high])}"
            for low, high, share in spans
            if low in quantiles and high in quantiles
        ]
        return f"{where} {join_words(parts)}." if parts else ""
    return ""


def _describe_teacher(result: RunResult) -> str:
    """Return text on the teacher and what it is worth; empty without a teacher."""
    teacher = result.teacher
    if teacher is None:
        return ""
    rows = [
        (name_model(m), format_percent(m.share), format_number(m.out_of_fold_loss))
        for m in teacher.models
    ]
    parts = [
        describe_models(teacher.models),
        describe_answers(result, teacher),
        describe_share(result, teacher),
        describe_validation(result, teacher),
        describe_distance(result),
    ]
    return "\n\n".join(
        [
            " ".join(escape(part) for part in parts if part),
            table(["Model of the teacher", "Share", f"Out-of-fold {name_loss(result)}"], rows),
        ]
    )


def _describe_importance(result: RunResult) -> str:
    importance = result.diagnostics and result.diagnostics.importance
    if not importance or not importance.columns:
        return ""
    columns = importance.sorted_columns
    rows = [
        (name, format_number(importance.increase), format_number(importance.std))
        for name, importance in columns[:MAX_IMPORTANCES]
    ]
    which = (
        f" The first {len(rows)} of {len(columns):,} columns:" if len(columns) > len(rows) else ""
    )
    return "\n\n".join(
        [
            f"How much worse the {escape(metric_label(result.metric))} gets when one column is "
            f"shuffled, on {format_count(importance.rows, 'row')}, "
            f"{format_count(importance.repeats, 'time')} each. Columns with the same information "
            f"replace one another, so each seems less important.{which}",
            table(["Column", "Worse by", "Standard deviation"], rows),
        ]
    )


def _describe_training(result: RunResult) -> str:
    plan, n_candidates = result.plan, len({c.architecture for c in result.candidates})
    networks = (
        format_count(plan.architectures, "network")
        if plan.feasible is None
        else f"{format_count(plan.feasible, 'network')} within the limits"
    )
    what = "widths and dimensions" if plan.dimensions else "widths"
    longer = f"the best once more for up to {plan.longer_epochs:,}, " if plan.longer_epochs else ""
    return (
        f"The weights that {networks} share were trained for "
        f"{format_count(plan.search_epochs, 'epoch')} together with a policy over {what}, which "
        "learned where good networks within the limits are. "
        f"{format_count(n_candidates, 'candidate')} {'was' if n_candidates == 1 else 'were'} "
        "trained stand-alone for up to "
        f"{format_count(plan.epochs, 'epoch')}, {_describe_teaching(result)}{longer}and the best "
        f"by {escape(result.chosen_by)} is the model."
    )


def _describe_teaching(result: RunResult) -> str:
    if result.teacher is None:
        return ""
    trainings = format_count(len(result.candidates), "training")
    return f"some of them with and without the answers of a teacher ({trainings} in all), "


def _describe_usage(result: RunResult) -> str:
    return "\n\n".join(
        [
            "In the folder of this card, on the command line:",
            code_block(PREDICT, "sh"),
            "In Python:",
            code_block(render_usage_code(result.target.task), "python"),
            *_describe_export(result),
        ]
    )


def _describe_export(result: RunResult) -> list[str]:
    """Return how to export the model: ONNX has no hashed columns, and C no float16 weights."""
    if any(encoding.startswith("hashed") for encoding in result.columns.values()):
        if result.precision == Precision.FLOAT16:
            return []
        return ["As C without a runtime:", code_block(EXPORT_C, "sh")]
    return [
        "As one ONNX file with the preprocessing inside, for other runtimes:",
        code_block(EXPORT, "sh"),
    ]


def _describe_repetition(result: RunResult, command: str) -> str:
    versions = [f"{escape(name)} {escape(version)}" for name, version in result.versions.items()]
    return "\n\n".join(
        [
            "The same rows, settings, seed and versions give the same network, bit for bit, unless "
            "the run had a time budget or a limit on latency.",
            code_block(command, "sh" if command.startswith("tabnas ") else "python"),
            f"Seed {result.seed}; {', '.join(versions)}. All settings are in `config.toml`, all "
            "results in `result.json`, and figures of both in `report.html`.",
        ]
    )
