"""Describe what a run or a trade-off would do, and print it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from tabnas.cli.display._formatting import make_two_column_table, safe_text
from tabnas.formatting import (
    count_column_kinds,
    format_bytes,
    format_count,
    format_duration,
    format_limits,
    join_words,
)
from tabnas.runs import (
    Plan,
    PlannedRun,
    PlannedTradeoff,
    estimate_network_bytes,
    estimate_speedup,
)
from tabnas.space import SearchSpace
from tabnas.threads import get_threads


def describe_planned(planned: PlannedRun | PlannedTradeoff) -> dict[str, Any]:
    """Return what a run or a trade-off would do, for `print_planned` and for JSON."""
    if isinstance(planned, PlannedTradeoff):
        return _describe_tradeoff(planned)
    return _describe_run(planned)


def _describe_run(run: PlannedRun) -> dict[str, Any]:
    data, plan, feasible = run.data, run.plan, run.plan.feasible
    count = feasible.count() if feasible.is_exact else None
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
        "network_bytes": estimate_network_bytes(
            feasible.space, data.spec, plan.optimizer, plan.search.workers
        ),
        "columns": data.encoder.describe(),
        "limits": {limit.cost.name: limit.upper for limit in feasible.budget.limits},
        "precisions": [str(precision) for precision in plan.precisions],
        "numeric_embeddings": _describe_numeric_embeddings(feasible.space),
        "widths": [list(layer) for layer in feasible.space.widths],
        "architectures": feasible.space.size,
        "feasible": count,
        "cheapest": str(feasible.cheapest()),
        "most_expensive": str(feasible.most_expensive()),
        "search_epochs": plan.search.epochs,
        "epochs": plan.training.epochs,
        "longer_epochs": plan.longer_epochs if plan.trains_longer else None,
        "batch_size": plan.training.batch_size,
        "candidates": plan.candidates if count is None else min(plan.candidates, count),
        "equal_candidates": len(plan.equal_dimensions),
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
    description = _describe_run(tradeoff.runs[-1])
    seconds = description["seconds"]
    # an upper bound, since the networks of tighter limits are smaller
    candidate_seconds = round(len(tradeoff.limits) * seconds["candidates"], 1)
    limits = {"cost": tradeoff.cost, "limits": list(tradeoff.limits)}
    seconds = seconds | {"candidates": candidate_seconds}
    return description | {"tradeoff": limits, "seconds": seconds}


def print_planned(console: Console, plan: dict[str, Any]) -> None:
    """Print the plan of a run or of a trade-off."""
    table = make_two_column_table()
    rows = plan["rows"]
    table.add_row("target", safe_text(f"{plan['target']} ({plan['task']})"))
    table.add_row(
        "rows",
        f"{rows['training']:,} training, {rows['validation']:,} validation, {rows['test']:,} test",
    )
    embedding_parameters = plan["embedding_parameters"]
    table.add_row("columns", count_column_kinds(plan["columns"].values()))
    table.add_row(
        "network",
        f"{plan['inputs']:,} inputs, {format_count(plan['outputs'], 'output')}"
        + (f", {embedding_parameters:,} embedding parameters" if embedding_parameters else ""),
    )
    memory = plan["network_bytes"]
    table.add_row(
        "memory",
        f"{format_bytes(sum(memory.values()))} for all networks, weights and optimizer state"
        + (f"; embeddings {format_bytes(memory['embeddings'])}" if embedding_parameters else ""),
    )
    tradeoff = plan.get("tradeoff")
    if tradeoff is not None:
        limits = ", ".join(f"{limit:,}" for limit in tradeoff["limits"])
        table.add_row("limits", f"{tradeoff['cost']} <= {limits}; below, the plan of the loosest")
    table.add_row("limit", format_limits(plan["limits"]))
    table.add_row("precision", " or ".join(plan["precisions"]))
    embeddings = plan["numeric_embeddings"]
    if embeddings is not None:
        table.add_row("input", _format_numeric_embeddings(embeddings))
    for layer, widths in enumerate(plan["widths"], start=1):
        table.add_row(f"layer {layer}", _format_widths(widths))
    feasible = plan["feasible"]
    count = "unknown" if feasible is None else f"{feasible:,}"
    table.add_row("architectures", f"{count} feasible of {plan['architectures']:,}")
    extremes = f"from {plan['cheapest']} to {plan['most_expensive']}"
    table.add_row("", f"only {plan['cheapest']}" if feasible == 1 else extremes)
    table.add_row(
        "search",
        f"{plan['search_epochs']} epochs, batches of {plan['batch_size']} rows",
    )
    how = f"{plan['folds']}-fold cross-validation" if plan["folds"] else "on validation rows"
    table.add_row("teacher", _format_planned_teacher(plan["teacher"]))
    equal = plan["equal_candidates"]
    added = f", {equal} with equally wide layers" if equal else ""
    table.add_row("candidates", f"{plan['candidates']} from the search{added}")
    longer = f", the best once more for {plan['longer_epochs']}" if plan["longer_epochs"] else ""
    table.add_row("", f"{plan['epochs']} epochs each, {how}{longer}")
    table.add_row("time", _format_estimate(plan["seconds"], plan["threads"]))
    console.print(table)


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
    if not present:
        return "absent"
    absent = "absent, or " if 0 in widths else ""
    return f"{absent}{_join_candidates(present)}  ({format_count(len(present), 'width')})"


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
