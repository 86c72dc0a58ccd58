"""A trade-off in a few lines."""

from __future__ import annotations

from itertools import pairwise

from rich.console import Console
from rich.table import Table

from tabnas.cli._summary import LONGEST_ARCHITECTURE, amount, digits_of, said_interval, said_number
from tabnas.cli._text import plain, shown
from tabnas.report import choose_network
from tabnas.results import TradeoffModel, TradeoffResult
from tabnas.space import BOTTLENECK_DEFINITION

LONGEST_WORDS = 600
UNCLEAR = "chance?"


def show_tradeoff(console: Console, result: TradeoffResult, folder: str) -> None:
    """Print the curve, and which network to begin with."""
    scores = [result.score(model) for model in result.models]
    digits = max(digits_of(score.value) for score in scores)
    where = f"{result.rows.test:,} test rows, with 95 % intervals"
    console.print(f"on {where if result.is_tested else 'validation rows'}", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("limit", justify="right")
    table.add_column("network", overflow="fold")
    for title in (result.cost, result.metric):
        table.add_column(shown(title), justify="right")
    table.add_column("step")
    steps = ["", *(_step(result, *pair, digits) for pair in pairwise(result.models))]
    for model, score, step in zip(result.models, scores, steps, strict=True):
        star = " *" if model.bottlenecks else ""
        table.add_row(
            f"{model.limit:,}",
            shown(f"{model.architecture}{star}", longest=LONGEST_ARCHITECTURE),
            amount(result.used(model)),
            said_interval(score, digits) if result.is_tested else said_number(score.value, digits),
            step,
        )
    for name, score in result.reference_scores.items():
        table.add_row("", shown(name, style="dim"), "", said_interval(score, digits), "")
    console.print(table)
    if any(model.bottlenecks for model in result.models):
        console.print(f"* has a bottleneck, {BOTTLENECK_DEFINITION}", style="dim")
    if any(UNCLEAR in step for step in steps):
        console.print(f"{UNCLEAR} the two intervals overlap", style="dim")
    console.print()
    choice = choose_network(result)
    for reason in choice.reasons:
        console.print(shown(reason.replace("\N{NO-BREAK SPACE}%", "%"), longest=LONGEST_WORDS))
    console.print()
    there = plain(folder, longest=200)
    console.print(f"{there}: tradeoff.html, tradeoff.json, limit-*/, config.toml", markup=False)
    console.print(
        f"next: tabnas predict {there}/{choice.model.folder} new.csv --out predictions.csv",
        markup=False,
        soft_wrap=True,
    )


def _step(result: TradeoffResult, before: TradeoffModel, after: TradeoffModel, digits: int) -> str:
    """Return what a step from one limit to the next gains."""
    if before.architecture == after.architecture:
        return "same network"
    change = result.score(after).value - result.score(before).value
    said = said_number(change, digits)
    said = said if change < 0 else f"+{said}"
    unclear = result.is_tested and not result.differs_clearly(before, after)
    return f"{said} {UNCLEAR}" if unclear else said
