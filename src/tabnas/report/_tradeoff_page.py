"""The page of a trade-off: one page of HTML that links to the reports of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tabnas.formatting import (
    PERCENT,
    capitalize_first,
    cost_label,
    format_number,
    format_percent,
    metric_label,
    sanitize_texts,
)
from tabnas.report._choice import choose_network
from tabnas.report._commands import render_repetition, render_usage_code
from tabnas.report._figure import Table
from tabnas.report._run_config import decode_config
from tabnas.report._template import fill_template
from tabnas.report._tradeoff_text import (
    format_headline,
    format_step,
    format_steps_summary,
    format_teacher,
    format_value,
)
from tabnas.report._work_text import format_times, format_versions
from tabnas.report.figures import draw_curve, draw_networks
from tabnas.results import CostUse, TradeoffModel, TradeoffResult

TEMPLATE = "tradeoff.html"
PREDICT = (
    "tabnas predict {folder} new.csv --out predictions.csv\ntabnas evaluate {folder} labelled.csv"
)
CONTENTS = [
    ("curve", "The curve"),
    ("choice", "Which one to take"),
    ("networks", "The networks"),
    ("use", "Use a model"),
    ("again", "Repeat the trade-off"),
]


def render_tradeoff(result: TradeoffResult, config: Mapping[str, Any]) -> str:
    """Return the page of a trade-off, which links to the reports of its runs and nothing else.

    As for `render_report`, the texts of the result are untrusted.
    """
    source, target = decode_config(config), result.target
    result = sanitize_texts(result)
    choice = choose_network(result)
    return fill_template(
        TEMPLATE,
        result=result,
        contents=CONTENTS,
        table_name=source.data.name if source.data else "",
        headline=format_headline(result),
        scores=format_steps_summary(result),
        is_within_limits=result.is_within_limits,
        curve=draw_curve(result),
        choice=choice,
        networks=draw_networks(result),
        steps=steps_table(result, is_refitted=bool(source.settings.get("refit"))),
        predict=PREDICT.format(folder=choice.model.folder),
        use=render_usage_code(result.target.task, f"{choice.model.folder}/model"),
        again=render_repetition(source, target.name, target.task),
        work=work_table(result),
    )


def steps_table(result: TradeoffResult, *, is_refitted: bool) -> Table:
    """Return the table of limits: what is used, the scores, and what each step gains."""
    metric = metric_label(result.metric)
    test = f"{metric} on test rows (95{PERCENT} interval)"
    steps = ["", *(format_step(result, *pair) for pair in pairwise(result.models))]
    return Table(
        title="Limit by limit",
        headings=[
            "Limit",
            "Network",
            *(["Weights"] if result.has_rounded_models else []),
            capitalize_first(f"{cost_label(result.cost)} used"),
            "Of the limit",
            *([capitalize_first(test)] if result.is_tested else []),
            capitalize_first(f"{metric} on validation"),
            "What the step buys",
        ],
        rows=[_row(result, m, step) for m, step in zip(result.models, steps, strict=True)],
        note="Each limit links to the report of its run. Validation is on the rows, or folds, by "
        "which the networks were chosen; test rows were used for the scores here"
        + (", and then to train the final weights." if is_refitted else " and nothing else."),
    )


def _row(result: TradeoffResult, model: TradeoffModel, step: str) -> list[str]:
    score = result.score(model)
    ends = f"{format_value(result, score.low)} to {format_value(result, score.high)}"
    test = [f"{format_value(result, score.value)} ({ends})"] if result.is_tested else []
    used = result.used(model)
    return [
        Markup('<a href="{}/report.html">{}</a>').format(model.folder, format_number(model.limit)),
        str(model.architecture),
        *([model.precision] if result.has_rounded_models else []),
        format_number(used),
        format_percent(CostUse(used, model.limit).share),
        *test,
        format_value(result, model.validation_score),
        step,
    ]


def work_table(result: TradeoffResult) -> Table:
    """Return the table of the work that was done, and the time it took."""
    rows = [
        ["Rows", str(result.rows)],
        ["Chosen by", result.chosen_by],
        *([["Teacher", format_teacher(result)]] if result.teacher else []),
        ["Seed", str(result.seed)],
        ["Versions", format_versions(result)],
        ["Time", format_times(result)],
    ]
    return Table(title="The work in numbers", headings=["", ""], rows=rows)
