"""Print the result of a run."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tabnas.cli.display._formatting import make_two_column_table, safe_text
from tabnas.formatting import (
    choose_decimals,
    format_cost,
    format_count,
    format_duration,
    format_fixed,
    format_fixed_interval,
    format_fixed_percent,
    quote_path,
    shorten,
)
from tabnas.report import summarize_rounding, summarize_teacher
from tabnas.results import WITHOUT_TEACHER, CostUse, RunResult, Scores

MAX_NOTE_LENGTH = 500
MAX_ARCHITECTURE_LENGTH = 200
MAX_INTERVALS = 3
"""The intervals of more models do not fit into 80 columns."""
HEADINGS = {"boosted trees": "boosted\ntrees", WITHOUT_TEACHER: "without\nteacher"}


def print_run(console: Console, result: RunResult, folder: str) -> None:
    """Print the network that a run has found, its costs and its scores."""
    table = make_two_column_table()
    table.add_row(
        "architecture",
        safe_text(result.architecture, "bold", max_length=MAX_ARCHITECTURE_LENGTH),
    )
    if result.architecture.dimension:
        table.add_row("", _explain_dimension(result))
    for name, cost in result.costs.items():
        table.add_row(
            safe_text(name),
            safe_text(_format_limited_cost(name, cost, result), max_length=MAX_NOTE_LENGTH),
        )
    if result.c_size is not None:
        table.add_row("compiled C", str(result.c_size))
    rounding = summarize_rounding(result)
    if rounding:
        table.add_row("precision", safe_text(rounding, max_length=MAX_NOTE_LENGTH))
    if result.teacher is not None:
        table.add_row("teacher", safe_text(summarize_teacher(result), max_length=MAX_NOTE_LENGTH))
    console.print(table)
    if len(result.limited_costs) > 1:
        console.print("a limit binds if it excludes a network that is one step wider", style="dim")
    console.print()
    if result.scores:
        print_scores(console, result.scores, f"{result.rows.test:,} test rows")
        console.print()
    _print_candidates(console, result)
    _print_limit_effects(console, result)
    for note in result.notes:
        console.print(safe_text(f"note: {note}", max_length=MAX_NOTE_LENGTH))
    seconds = result.phase_seconds
    teacher = f"teacher {format_duration(seconds.get('teacher', 0.0))}, " if result.teacher else ""
    total = result.total_seconds
    console.print(
        f"searched in {format_duration(seconds.get('search', 0.0))}, {teacher}"
        f"{format_count(len(result.candidates), 'candidate')} trained in "
        f"{format_duration(seconds.get('candidates', 0.0))}"
        + ("" if total is None else f"; {format_duration(total)} in all")
    )
    files = "report.html, MODEL_CARD.md, model/, result.json, config.toml"
    console.print(f"{shorten(folder, 200)}: {files}", markup=False)
    console.print(
        f"next: tabnas predict {quote_path(folder)} new.csv --out predictions.csv",
        markup=False,
        soft_wrap=True,
    )


def _explain_dimension(result: RunResult) -> str:
    """Explain the first part of an architecture like d2-64-16."""
    dimension = result.architecture.dimension
    columns = format_count(result.plan.embedded_columns, "numeric column")
    return f"d{dimension}: each of {columns} as {format_count(dimension, 'learned number')}"


def _format_limited_cost(name: str, cost: CostUse, result: RunResult) -> str:
    """Format a cost with its limit: the share, whether it binds, and the measured value."""
    value, limit = cost.value, cost.limit
    if limit is None:
        return format_cost(value)
    text = f"{format_cost(value)} of {limit:,} ({format_fixed_percent(cost.share)})"
    if name in result.binding_limits:
        text += ", binds"
    measured = result.measured_latencies.get(name)
    if measured is not None:
        return f"{text}, measured {format_cost(measured)}"
    return text if isinstance(value, int) else f"{text}, predicted"


def print_scores(console: Console, scores: Mapping[str, Scores], rows: str) -> None:
    """Print the scores of several models side by side, with 95 % intervals.

    Of more than three models, only the first has intervals.
    """
    is_crowded = len(scores) > MAX_INTERVALS
    whose = f" of the {next(iter(scores))}" if is_crowded else ""
    console.print(safe_text(f"on {rows}, with 95 % intervals{whose}", style="dim"))
    lines: dict[str, list[str]] = {}
    for metric, first in next(iter(scores.values())).items():
        values = [model.get(metric) for model in scores.values()]
        decimals = choose_decimals(first.value)
        lines[metric] = [
            ""
            if v is None
            else format_fixed(v.value, decimals)
            if is_crowded and k > 0
            else format_fixed_interval(v.value, v.low, v.high, decimals)
            for k, v in enumerate(values)
        ]
    is_wide = any(" to " in text for line in lines.values() for text in line)
    table = Table(box=None, padding=(0, 1 if is_wide else 2, 0, 0))  # three models in 80 columns
    table.add_column("")
    for name in scores:
        heading = HEADINGS.get(name) if is_crowded else None
        table.add_column(Text(heading) if heading else safe_text(name), justify="right")
    for metric, line in lines.items():
        table.add_row(safe_text(metric), *line)
    console.print(table)


def _print_candidates(console: Console, result: RunResult) -> None:
    if not result.candidates:
        return
    metric, limit = result.metric, result.main_cost
    title = f"candidates, trained stand-alone and compared by {result.chosen_by}"
    console.print(safe_text(title, "dim", max_length=MAX_NOTE_LENGTH))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    if result.teacher is not None:
        table.add_column("learned from")
    if result.has_rounded_candidates:
        table.add_column("weights")
    table.add_column(safe_text(metric), justify="right")
    table.add_column(safe_text(limit), justify="right")
    table.add_column("epochs", justify="right")
    decimals = 1 + choose_decimals(result.candidates[0].score)
    for candidate in result.candidates:
        table.add_row(
            safe_text(candidate.architecture, max_length=MAX_ARCHITECTURE_LENGTH),
            *([] if result.teacher is None else [candidate.learned_from]),
            *([candidate.precision] if result.has_rounded_candidates else []),
            format_fixed(candidate.score, decimals),
            format_cost(candidate.costs[limit]) if limit in candidate.costs else "",
            result.format_epochs(candidate),
        )
    console.print(table)
    console.print()


def _print_limit_effects(console: Console, result: RunResult) -> None:
    """Print what half and twice the limit would give."""
    effects = {effect.factor: effect for effect in result.limit_effects}
    if 1.0 not in effects or len(effects) < 2:
        return
    names = {0.5: "half the limit", 1.0: "the limit", 2.0: "twice the limit"}
    console.print("effect of the limit, by the rough estimates of the search", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("loss", justify="right")
    table.add_column("architecture")
    decimals = choose_decimals(effects[1.0].one_shot_loss)
    for factor, effect in effects.items():
        loss = format_fixed(effect.one_shot_loss, decimals)
        network = safe_text(effect.architecture, max_length=MAX_ARCHITECTURE_LENGTH)
        table.add_row(names.get(factor, f"{factor:g} times the limit"), loss, network)
    console.print(table)
    console.print()
