"""The report of a run: one page of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabnas.formatting import (
    PERCENT,
    capitalize_first,
    cost_label,
    format_count,
    format_interval,
    format_number,
    format_percent,
    format_score,
    isolate,
    join_words,
    metric_label,
    sanitize_texts,
)
from tabnas.report import figures
from tabnas.report._commands import PREDICT, render_repetition, render_usage_code
from tabnas.report._figure import Figure, Table
from tabnas.report._latency_text import describe_latency
from tabnas.report._run_config import decode_config
from tabnas.report._template import fill_template
from tabnas.report._work_text import format_times, format_versions
from tabnas.results import PlanSummary, RunResult, Score, Snapshot

TEMPLATE = "page.html"
MAX_COLUMNS = 2_000
"""Columns that the report lists; result.json has all of them."""
FEW_COLUMNS = 30


@dataclass(frozen=True)
class Section:
    """A section of the page with its figures."""

    key: str
    title: str
    figures: Sequence[Figure]


def render_report(result: RunResult, history: Sequence[Snapshot], config: Mapping[str, Any]) -> str:
    """Return the report of a run as one page of HTML that loads nothing else.

    Parameters
    ----------
    result
        The result of the run. Its texts are untrusted: they are sanitized and escaped here.
    history
        The snapshots of the search.
    config
        The contents of `config.toml`, to repeat the run.
    """
    source, target = decode_config(config), result.target
    result = sanitize_texts(result)
    sections = build_sections(result, history)
    return fill_template(
        TEMPLATE,
        result=result,
        table_name=source.data.name if source.data else "",
        headline=format_headline(result),
        scores=format_main_scores(result),
        is_within_limits=result.is_within_limits,
        sections=sections,
        contents=[
            *((section.key, section.title) for section in sections),
            ("use", "Use the model"),
            ("again", "Repeat the run"),
        ],
        columns=columns_table(result),
        few_columns=len(result.columns) <= FEW_COLUMNS,
        work=work_table(result),
        predict=PREDICT,
        use=render_usage_code(result.target.task),
        again=render_repetition(source, target.name, target.task),
        is_in_tradeoff=source.tradeoff is not None,
    )


def build_sections(result: RunResult, history: Sequence[Snapshot]) -> list[Section]:
    """Return the sections with figures: the result, the search, the errors, the columns.

    If there was a teacher, it has a section, too.
    """
    errors = (
        [figures.draw_residuals(result)]
        if result.target.task == "regression"
        else [figures.draw_confusion(result), figures.draw_reliability(result)]
    )
    teacher = figures.draw_teacher(result)
    return [
        Section(
            "found",
            "What was found",
            [
                figures.draw_limits(result),
                figures.draw_network(result),
                *([] if result.c_size is None else [figures.tabulate_c_size(result.c_size)]),
                figures.draw_scores(result),
                *_limit_effects(result),
            ],
        ),
        *([Section("teacher", "The teacher", teacher)] if teacher else []),
        Section(
            "how",
            "How it was found",
            [
                figures.draw_heat_maps(result, history),
                figures.draw_feasible_probability(history),
                figures.draw_quality(history),
                figures.draw_candidates(result),
                figures.draw_one_shot_calibration(result),
            ],
        ),
        Section("trust", "How far to trust it", errors),
        Section(
            "columns",
            "The columns",
            [figures.draw_importance(result), *figures.draw_numeric_curves(result)],
        ),
    ]


def format_headline(result: RunResult) -> str:
    """Return a sentence with the network and the share of each limit that it uses."""
    depth = result.architecture.depth
    kind = (
        "A linear network"
        if not depth and not result.architecture.dimension
        else f"A network without hidden layers, {result.architecture},"
        if not depth
        else f"A network of {format_count(depth, 'hidden layer')}, {result.architecture},"
        if depth <= 8
        else f"A network of {format_count(depth, 'hidden layer')}"
    )
    uses = [
        f"{format_number(cost.value)} of {format_number(cost.limit or 0)} {cost_label(name)} "
        f"({format_percent(cost.share)})"
        for name, cost in result.limited_costs.items()
    ]
    return f"{kind} with {join_words(uses)}." if uses else f"{kind.rstrip(',')}."


def format_main_scores(result: RunResult) -> str:
    """Return a sentence with the main scores on test rows, or why there are none."""
    scores: Mapping[str, Score] = result.scores.get("network", {})
    metrics = dict.fromkeys(["accuracy" if result.target.classes else "r2", result.metric])
    listed = [
        f"{metric_label(name)} {_with_interval(name, scores[name])}"
        for name in metrics
        if name in scores
    ]
    if listed:
        rows = format_count(result.rows.test, "test row")
        return f"{capitalize_first(join_words(listed))} on {rows}."
    if result.candidates:
        score = format_score(result.metric, result.candidates[0].score)
        return (
            f"No rows were held out for a test. By {isolate(result.chosen_by)}, which also chose "
            f"it, its {metric_label(result.metric)} is {score}."
        )
    return "No rows were held out for a test."


def _with_interval(metric: str, score: Score) -> str:
    value, low, high = format_interval(metric, score.value, score.low, score.high)
    return f"{value} (95{PERCENT} interval {low} to {high})"


def columns_table(result: RunResult) -> Table:
    """Return the table of how each column was encoded."""
    columns = list(result.columns.items())
    rows = [[isolate(name), encoding] for name, encoding in columns[:MAX_COLUMNS]]
    left = len(columns) - len(rows)
    return Table(
        title=f"How {format_count(len(columns), 'column')} were encoded",
        headings=["Column", "Encoding"],
        rows=rows,
        note=f"{format_count(left, 'more column')} are in result.json." if left else "",
    )


def work_table(result: RunResult) -> Table:
    """Return the table of the work that was done, and the time it took."""
    plan = result.plan
    epochs = format_count(plan.search_epochs, "epoch")
    longer = f", the best for up to {plan.longer_epochs:,}" if plan.longer_epochs else ""
    rows = [
        ["Rows", str(result.rows)],
        *([["Input layer", format_input_layer(plan)]] if plan.dimensions else []),
        ["Search", f"{epochs}, batches of {plan.batch_size:,} rows"],
        [
            "Candidates",
            f"trained for up to {format_count(plan.epochs, 'epoch')}{longer}, by "
            f"{result.chosen_by}",
        ],
        ["Learning rate", f"{plan.learning_rate:g}"],
        ["Final weights", _final_weights(result)],
        ["Seed", f"{result.seed}"],
        ["Versions", format_versions(result)],
        *([["Measured", measured]] if (measured := describe_latency(result)) else []),
        ["Time", format_times(result)],
    ]
    return Table(title="The work in numbers", headings=["", ""], rows=rows)


def format_input_layer(plan: PlanSummary) -> str:
    """Return the candidates of the input layer: which dimensions, of how many columns and knots."""
    dimensions = join_words([f"{dimension:,}" for dimension in plan.dimensions])
    columns = format_count(plan.embedded_columns, "numeric column")
    noun = "dimension" if len(plan.dimensions) == 1 else "dimensions"
    return (
        f"embeddings of {columns}, {noun} {dimensions}, {format_count(plan.knots, 'knot')} in all"
    )


def _final_weights(result: RunResult) -> str:
    rows = format_count(result.final_fit_rows, "row")
    if result.is_refitted:
        return f"trained on all {rows}, after the scores were computed"
    unseen = ", not on the test rows" if result.rows.test else ""
    return f"trained on {rows}, as scored{unseen}"


def _limit_effects(result: RunResult) -> list[Figure]:
    """Return what the search estimates for other limits."""
    if len(result.limit_effects) < 2:
        return []
    names = {0.5: "half the limit", 1.0: "the limit", 2.0: "twice the limit"}
    table = Table(
        title="What another limit would give",
        headings=["With", "Estimated loss", "Architecture"],
        rows=[
            [
                names.get(effect.factor, f"{format_number(effect.factor)} times the limit"),
                format_number(effect.one_shot_loss),
                str(effect.architecture),
            ]
            for effect in result.limit_effects
        ],
    )
    text = (
        "A rough estimate from the shared weights of the search, not a result. Nothing over the "
        "limit was trained."
    )
    return [
        Figure(key="outlook", title="What another limit would give", paragraphs=[text], table=table)
    ]
