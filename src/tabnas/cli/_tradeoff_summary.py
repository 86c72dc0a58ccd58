"""A trade-off in a few lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.table import Table

from tabnas.cli._summary import LONGEST_ARCHITECTURE, amount, digits_of, said_interval, said_number
from tabnas.cli._text import plain, shown
from tabnas.report import choose_network
from tabnas.space import BOTTLENECK_DEFINITION

LONGEST_WORDS = 600
UNCLEAR = "chance?"


def show_tradeoff(console: Console, facts: dict[str, Any], folder: str) -> None:
    """Print the curve, and which network to begin with."""
    metric, cost, models = facts["metric"], facts["cost"], facts["models"]
    scores = [_score(model, metric) for model in models]
    judged = all(score is not None for score in scores)
    values = [_value(m, s if judged else None) for m, s in zip(models, scores, strict=True)]
    digits = max(map(digits_of, values))
    where = f"{facts['rows']['test']:,} test rows, with 95 % intervals"
    console.print(f"on {where if judged else 'held-out rows'}", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("limit", justify="right")
    table.add_column("network", overflow="fold")
    for title in (cost, metric):
        table.add_column(shown(title), justify="right")
    table.add_column("step")
    steps = ["", *(_step(facts, *pair, digits) for pair in pairwise(models))]
    for model, value, score, step in zip(models, values, scores, steps, strict=True):
        table.add_row(
            f"{model['limit']:,}",
            shown(
                model["architecture"] + (" *" if model["bottlenecks"] else ""),
                longest=LONGEST_ARCHITECTURE,
            ),
            amount(model["costs"][cost]["value"]),
            said_interval(score, digits) if judged and score else said_number(value, digits),
            step,
        )
    for name, beside in facts["beside"].items():
        score = beside["metrics"].get(metric)
        if judged and score is not None:
            table.add_row("", shown(name, style="dim"), "", said_interval(score, digits), "")
    console.print(table)
    if any(model["bottlenecks"] for model in models):
        console.print(f"* has a bottleneck, {BOTTLENECK_DEFINITION}", style="dim")
    if any(UNCLEAR in step for step in steps):
        console.print(f"{UNCLEAR} the two intervals overlap", style="dim")
    console.print()
    choice = choose_network(facts)
    for words in choice.words:
        console.print(shown(words.replace("\N{NO-BREAK SPACE}%", "%"), longest=LONGEST_WORDS))
    console.print()
    there = plain(folder, longest=200)
    console.print(f"{there}: tradeoff.html, tradeoff.json, limit-*/, config.toml", markup=False)
    console.print(
        f"next: tabnas predict {there}/{choice.member.folder} new.csv --out predictions.csv",
        markup=False,
        soft_wrap=True,
    )


def _score(model: dict[str, Any], metric: str) -> dict[str, float] | None:
    scores = model["scores"]
    return None if scores is None else scores["metrics"].get(metric)


def _value(model: dict[str, Any], score: dict[str, float] | None) -> float:
    return float(model["held_out"] if score is None else score["value"])


def _step(facts: dict[str, Any], before: dict[str, Any], after: dict[str, Any], digits: int) -> str:
    """What one step buys."""
    if before["architecture"] == after["architecture"]:
        return "same network"
    a, b = (_score(model, facts["metric"]) for model in (before, after))
    change = (
        _value(after, b) - _value(before, a) if a and b else after["held_out"] - before["held_out"]
    )
    said = said_number(change, digits)
    said = said if change < 0 else f"+{said}"
    if a and b and a["low"] <= b["high"] and b["low"] <= a["high"]:
        return f"{said} {UNCLEAR}"
    return said
