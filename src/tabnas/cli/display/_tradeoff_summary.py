"""Print the result of a trade-off."""

from __future__ import annotations

from itertools import pairwise

from rich.console import Console
from rich.table import Table

from tabnas.cli.display._formatting import safe_text
from tabnas.cli.display._run_summary import MAX_ARCHITECTURE_LENGTH
from tabnas.formatting import (
    choose_decimals,
    format_cost,
    format_count,
    format_fixed,
    format_fixed_interval,
    quote_path,
    shorten,
)
from tabnas.report import choose_network, format_teacher
from tabnas.results import TradeoffModel, TradeoffResult
from tabnas.space import BOTTLENECK_DEFINITION, Precision

MAX_ADVICE_LENGTH = 600
UNCLEAR = "chance?"


def print_tradeoff(console: Console, result: TradeoffResult, folder: str) -> None:
    """Print the curve of a trade-off, and which network to start with."""
    scores = [result.score(model) for model in result.models]
    decimals = max(choose_decimals(score.value) for score in scores)
    rows = f"{result.rows.test:,} test rows, with 95 % intervals"
    console.print(f"on {rows if result.is_tested else 'validation rows'}", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("limit", justify="right")
    table.add_column("network", overflow="fold")
    for title in (result.cost, result.metric):
        table.add_column(safe_text(title), justify="right")
    table.add_column("step")
    steps = ["", *(_format_step(result, *pair, decimals) for pair in pairwise(result.models))]
    for model, score, step in zip(result.models, scores, steps, strict=True):
        star = " *" if model.bottlenecks else ""
        table.add_row(
            f"{model.limit:,}",
            safe_text(f"{model.architecture}{star}", max_length=MAX_ARCHITECTURE_LENGTH),
            format_cost(result.used(model)),
            format_fixed_interval(score.value, score.low, score.high, decimals)
            if result.is_tested
            else format_fixed(score.value, decimals),
            step,
        )
    for name, score in result.reference_scores.items():
        table.add_row(
            "",
            safe_text(name, style="dim"),
            "",
            format_fixed_interval(score.value, score.low, score.high, decimals),
            "",
        )
    console.print(table)
    if any(model.bottlenecks for model in result.models):
        console.print(f"* has a bottleneck, {BOTTLENECK_DEFINITION}", style="dim")
    dimensions = [d for d in (model.architecture.dimension for model in result.models) if d]
    if dimensions:
        numbers = format_count(dimensions[0], "learned number")
        console.print(f"d{dimensions[0]}: each numeric column as {numbers}", style="dim")
    if result.has_rounded_models:
        rounded = [m for m in result.models if m.precision != Precision.FLOAT32]
        count = f"{len(rounded)} of {len(result.models)}"
        console.print(f"weights: {rounded[0].precision} in {count} networks", style="dim")
    if any(UNCLEAR in step for step in steps):
        console.print(f"{UNCLEAR} the two intervals overlap", style="dim")
    if result.teacher:
        console.print(
            safe_text(
                f"teacher: {format_teacher(result)}", style="dim", max_length=MAX_ADVICE_LENGTH
            )
        )
    console.print()
    choice = choose_network(result)
    for sentence in choice.reasons:
        console.print(
            safe_text(sentence.replace("\N{NO-BREAK SPACE}%", "%"), max_length=MAX_ADVICE_LENGTH)
        )
    console.print()
    files = "tradeoff.html, tradeoff.json, limit-*/, config.toml"
    console.print(f"{shorten(folder, 200)}: {files}", markup=False)
    chosen = quote_path(f"{folder}/{choice.model.folder}")
    console.print(
        f"next: tabnas predict {chosen} new.csv --out predictions.csv",
        markup=False,
        soft_wrap=True,
    )


def _format_step(
    result: TradeoffResult, before: TradeoffModel, after: TradeoffModel, decimals: int
) -> str:
    """Format how the metric changes from one limit to the next."""
    if result.is_same_network(before, after):
        return "same network"
    change = result.score(after).value - result.score(before).value
    text = format_fixed(change, decimals)
    text = text if change < 0 else f"+{text}"
    is_unclear = result.is_tested and not result.differs_clearly(before, after)
    return f"{text} {UNCLEAR}" if is_unclear else text
