"""From the facts of a trade-off to its page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tabnas.report._choice import Choice, choose
from tabnas.report._commands import make_again, source_name, use_in_python
from tabnas.report._facts import Cost
from tabnas.report._figure import Table
from tabnas.report._page import fill
from tabnas.report._tradeoff_facts import Member, TradeoffFacts, read_tradeoff
from tabnas.report._tradeoff_words import capital, headline, said, step_words, verdict
from tabnas.report._words import (
    PERCENT,
    cost_words,
    duration,
    isolated,
    metric_words,
    number,
    percent,
)
from tabnas.report.figures import curve, side_by_side
from tabnas.report.figures._limits import share_of

TEMPLATE = "tradeoff.html"
PREDICT = (
    "tabnas predict {folder} new.csv --out predictions.csv\ntabnas evaluate {folder} labelled.csv"
)
CONTENTS = [
    ("curve", "The curve"),
    ("choice", "Which one to take"),
    ("networks", "The networks"),
    ("use", "Use a model"),
    ("again", "Make the trade-off again"),
]


def render_tradeoff(tradeoff: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The page of a trade-off: one file of HTML that links to the reports beside it.

    A pure function of what `tradeoff.json` and `config.toml` hold, with the promises of
    `render_report`. Links lead nowhere but to the trade-off's own runs.
    """
    facts = read_tradeoff(tradeoff)
    choice = choose(facts)
    return fill(
        TEMPLATE,
        facts=facts,
        contents=CONTENTS,
        source=source_name(config),
        headline=headline(facts),
        verdict=verdict(facts),
        holds=all(member.holds for member in facts.members),
        curve=curve(facts),
        choice=choice,
        drawn=side_by_side(facts),
        steps=steps_table(facts),
        predict=PREDICT.format(folder=choice.member.folder),
        use=use_in_python(facts.task, f"{choice.member.folder}/model"),
        again=make_again(config, facts.target_name),
        work=work_table(facts),
    )


def choose_network(tradeoff: Mapping[str, Any]) -> Choice:
    """The network that the page says to begin with, and why, for those who read no page."""
    return choose(read_tradeoff(tradeoff))


def steps_table(facts: TradeoffFacts) -> Table:
    """Limit by limit: what is used, how good it is, and what the step to it buys."""
    metric = metric_words(facts.metric)
    judged = [capital(f"{metric} on test rows (95{PERCENT} interval)")] if facts.tested else []
    steps = ["", *(step_words(facts, *pair) for pair in pairwise(facts.members))]
    return Table(
        title="Limit by limit",
        headings=[
            "Limit",
            "Network",
            capital(f"{cost_words(facts.cost)} used"),
            "Of the limit",
            *judged,
            capital(f"{metric} held out"),
            "What the step buys",
        ],
        rows=[_row(facts, m, step) for m, step in zip(facts.members, steps, strict=True)],
        note="Each limit leads to the report of its run. Held out are the rows, or folds, by which "
        "the networks were chosen; test rows were used for nothing else.",
    )


def _row(facts: TradeoffFacts, member: Member, step: str) -> list[str]:
    score = member.score
    ends = f"{said(facts, score.low)} to {said(facts, score.high)}"
    judged = [f"{said(facts, score.value)} ({ends})"] if facts.tested else []
    link = Markup('<a href="{}/report.html">{}</a>').format(member.folder, number(member.limit))
    return [
        link,
        isolated(member.architecture),
        number(member.used),
        percent(share_of(Cost(facts.cost, member.used, member.limit))),
        *judged,
        said(facts, member.held_out),
        step,
    ]


def work_table(facts: TradeoffFacts) -> Table:
    """The work that was done, and the time it took."""
    rows = [f"{facts.rows[n]:,} {n}" for n in ("training", "validation", "test") if n in facts.rows]
    told = [
        ["Rows", ", ".join(rows)],
        ["Chosen by", facts.chosen_by],
        ["Seed", str(facts.seed)],
    ]
    if facts.versions:
        told.append(["Versions", ", ".join(f"{n} {v}" for n, v in facts.versions.items())])
    spent = [
        f"{name} {duration(seconds)}"
        for name, seconds in facts.timings.items()
        if not name.startswith("measured ")
    ]
    return Table(
        title="The work in numbers", headings=["", ""], rows=[*told, ["Time", ", ".join(spent)]]
    )
