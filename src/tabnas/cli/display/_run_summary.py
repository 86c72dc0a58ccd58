"""Print the plan of a run, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tabnas.cli.display._formatting import make_two_column_table, safe_text
from tabnas.formatting import (
    choose_decimals,
    count_column_kinds,
    format_bytes,
    format_cost,
    format_count,
    format_duration,
    format_fixed,
    format_fixed_interval,
    format_fixed_percent,
    format_limits,
    join_words,
    shorten,
)
from tabnas.report import summarize_teacher
from tabnas.results import WITHOUT_TEACHER, CostUse, RunResult, Scores
from tabnas.runs import (
    Plan,
    PlannedRun,
    PlannedTradeoff,
    estimate_network_bytes,
    estimate_speedup,
)
from tabnas.space import SearchSpace
from tabnas.threads import get_threads

MAX_NOTE_LENGTH = 500
MAX_ARCHITECTURE_LENGTH = 200
MAX_INTERVALS = 3
"""The intervals of more models do not fit into 80 columns."""
HEADINGS = {"boosted trees": "boosted\ntrees", WITHOUT_TEACHER: "without\nteacher"}


def describe_planned(planned: PlannedRun | PlannedTradeoff) -> dict[str, Any]:
    """Return what a run or a trade-off would do, for `print_planned` and for JSON."""
    if isinstance(planned, PlannedTradeoff):
        return _describe_tradeoff(planned)
    return _describe_run(planned)


def _describe_run(run: PlannedRun) -> dict[str, Any]:
    data, plan, feasible = run.data, run.plan, run.plan.feasible
    return {
        "target": data.target.name,
        "task": data.target.task,
        "metric": run.metric.name,
        "rows": {
            "training": len(data.train),
            "validation": len(data.validation),
            "test": 0 if data.test is None else len(data.test),
        },
        "inputs": feasible.space.inputs,
        "outputs": feasible.space.outputs,
        "embedding_parameters": feasible.space.embedding_parameters,
        "network_bytes": estimate_network_bytes(feasible.space, data.task, plan.optimizer),
        "columns": data.encoder.describe(),
        "limits": {limit.cost.name: limit.upper for limit in feasible.budget.limits},
        "precisions": [str(precision) for precision in plan.precisions],
        "numeric_embeddings": _describe_numeric_embeddings(feasible.space),
        "widths": [list(layer) for layer in feasible.space.widths],
        "architectures": feasible.space.size,
        "feasible": feasible.count() if feasible.is_exact else None,
        "cheapest": str(feasible.cheapest()),
        "most_expensive": str(feasible.most_expensive()),
        "search_epochs": plan.search.epochs,
        "epochs": plan.training.epochs,
        "batch_size": plan.training.batch_size,
        "candidates": plan.candidates,
        "folds": plan.folds,
        "teacher": _describe_teacher(plan),
        "seconds": {name: round(value, 1) for name, value in plan.estimated_seconds.items()},
        "threads": get_threads(),
    }


def _describe_teacher(plan: Plan) -> dict[str, Any] | None:
    teacher = plan.teacher
    if not teacher.teachers:
        return None
    return {
        "models": list(teacher.teachers),
        "folds": teacher.folds,
        "fits": teacher.fits * len(teacher.teachers),
        "seconds": round(teacher.seconds, 1),
    }


def _describe_numeric_embeddings(space: SearchSpace) -> dict[str, Any] | None:
    embeddings = space.numeric_embeddings
    if embeddings is None:
        return None
    return {
        "dimensions": list(embeddings.dimensions),
        "columns": embeddings.columns,
        "knots": embeddings.knots,
    }


def _describe_tradeoff(tradeoff: PlannedTradeoff) -> dict[str, Any]:
    """Return what a trade-off would do: the plan of the loosest limit, which all others share."""
    facts = _describe_run(tradeoff.runs[-1])
    seconds = facts["seconds"]
    # an upper bound, since the networks of tighter limits are smaller
    candidate_seconds = round(len(tradeoff.limits) * seconds["candidates"], 1)
    limits = {"cost": tradeoff.cost, "limits": list(tradeoff.limits)}
    return facts | {"tradeoff": limits, "seconds": seconds | {"candidates": candidate_seconds}}


def print_planned(console: Console, facts: dict[str, Any]) -> None:
    """Print the plan of a run or of a trade-off."""
    table = make_two_column_table()
    rows = facts["rows"]
    table.add_row("target", safe_text(f"{facts['target']} ({facts['task']})"))
    table.add_row(
        "rows",
        f"{rows['training']:,} training, {rows['validation']:,} validation, {rows['test']:,} test",
    )
    embedding_parameters = facts["embedding_parameters"]
    table.add_row("columns", count_column_kinds(facts["columns"].values()))
    table.add_row(
        "network",
        f"{facts['inputs']:,} inputs, {facts['outputs']} output{'s' * (facts['outputs'] > 1)}"
        + (f", {embedding_parameters:,} embedding parameters" if embedding_parameters else ""),
    )
    memory = facts["network_bytes"]
    table.add_row(
        "memory",
        f"{format_bytes(sum(memory.values()))} for all networks, weights and optimizer state"
        + (f"; embeddings {format_bytes(memory['embeddings'])}" if embedding_parameters else ""),
    )
    tradeoff = facts.get("tradeoff")
    if tradeoff is not None:
        limits = ", ".join(f"{limit:,}" for limit in tradeoff["limits"])
        table.add_row("limits", f"{tradeoff['cost']} <= {limits}; below, the plan of the loosest")
    table.add_row("limit", format_limits(facts["limits"]))
    table.add_row("precision", " or ".join(facts["precisions"]))
    embeddings = facts["numeric_embeddings"]
    if embeddings is not None:
        table.add_row("input", _format_numeric_embeddings(embeddings))
    for layer, widths in enumerate(facts["widths"], start=1):
        table.add_row(f"layer {layer}", _format_widths(widths))
    feasible = facts["feasible"]
    count = "unknown" if feasible is None else f"{feasible:,}"
    table.add_row("architectures", f"{count} feasible of {facts['architectures']:,}")
    table.add_row("", f"from {facts['cheapest']} to {facts['most_expensive']}")
    table.add_row(
        "search", f"{facts['search_epochs']} epochs, batches of {facts['batch_size']} rows"
    )
    how = f"{facts['folds']}-fold cross-validation" if facts["folds"] else "on validation rows"
    table.add_row("teacher", _format_planned_teacher(facts["teacher"]))
    table.add_row("candidates", f"{facts['candidates']}, {facts['epochs']} epochs each, {how}")
    table.add_row("time", _format_estimate(facts["seconds"], facts["threads"]))
    console.print(table)


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
    rounding = format_rounding(result)
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
    folder = shorten(folder, 200)
    files = "report.html, MODEL_CARD.md, model/, result.json, config.toml"
    console.print(f"{folder}: {files}", markup=False)
    console.print(f"next: tabnas predict {folder} new.csv --out predictions.csv", markup=False)


def format_rounding(result: RunResult) -> str:
    """Return the precision of the weights, and what rounding has changed; "" for float32."""
    chosen = result.candidates[0] if result.candidates else None
    if chosen is None or chosen.score_before_rounding is None:
        return ""
    decimals = 1 + choose_decimals(chosen.score)
    before = format_fixed(chosen.score_before_rounding, decimals)
    after = format_fixed(chosen.score, decimals)
    return f"{chosen.precision}; {result.metric} {before} before rounding, {after} after"


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
    decimals = 1 + choose_decimals(result.candidates[0].score)
    for candidate in result.candidates:
        table.add_row(
            safe_text(candidate.architecture, max_length=MAX_ARCHITECTURE_LENGTH),
            *([] if result.teacher is None else [candidate.lesson]),
            *([candidate.precision] if result.has_rounded_candidates else []),
            format_fixed(candidate.score, decimals),
            format_cost(candidate.costs[limit]) if limit in candidate.costs else "",
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


def _format_numeric_embeddings(embeddings: Mapping[str, Any]) -> str:
    """Format the candidates of the input layer, and what is embedded."""
    dimensions = _join_candidates([f"{d:,}" for d in embeddings["dimensions"]])
    columns = format_count(embeddings["columns"], "numeric column")
    knots = format_count(embeddings["knots"], "knot")
    return f"dimensions {dimensions} of {columns}  ({knots})"


def _format_planned_teacher(teacher: Mapping[str, Any] | None) -> str:
    """Format who would teach, and how long that would take."""
    if teacher is None:
        return "none"
    fits = f"{format_count(teacher['fits'], 'fit')} in {teacher['folds']} folds"
    seconds = format_duration(teacher["seconds"])
    return f"{join_words(teacher['models'])}, {fits}, about {seconds}"


def _format_widths(widths: list[int]) -> str:
    present = [str(width) for width in widths if width]
    absent = "absent, or " if 0 in widths else ""
    return f"{absent}{_join_candidates(present)}  ({len(present)} widths)"


def _join_candidates(names: list[str]) -> str:
    """Join the candidates of a layer: all of them, or the first and the last."""
    return ", ".join(names) if len(names) <= 8 else f"{names[0]}, {names[1]}, … {names[-1]}"


def _format_estimate(seconds: dict[str, float], threads: int) -> str:
    """Format how long a run will take, and how much of the work the comparison is."""
    total, trees = sum(seconds.values()), seconds["comparison"]
    share = f", of which {format_duration(trees)} to compare with boosted trees" if trees else ""
    if threads == 1:
        return f"about {format_duration(total)}{share}"
    wall = format_duration(total / estimate_speedup(threads))
    return f"about {wall} on {threads} threads: {format_duration(total)} of work{share}"
