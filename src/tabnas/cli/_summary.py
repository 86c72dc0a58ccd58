"""A run in a few lines: the plan before, what was found after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from rich.console import Console
from rich.table import Table

from tabnas.cli._text import plain, shown, size
from tabnas.results import CandidateResult, CostUse, RunResult, Score, Scores
from tabnas.runs import PlannedRun, PlannedTradeoff, estimate_network_bytes

MOST_DIGITS = 7
LONGEST_NOTE = 500
LONGEST_ARCHITECTURE = 200


def facts_of_plan(run: PlannedRun) -> dict[str, Any]:
    """What would be done, for people and machines."""
    parts, plan, feasible = run.data, run.plan, run.plan.feasible
    return {
        "target": parts.target.name,
        "task": parts.target.task,
        "metric": run.metric.name,
        "rows": {
            "training": len(parts.train),
            "validation": len(parts.validation),
            "test": 0 if parts.test is None else len(parts.test),
        },
        "inputs": feasible.space.inputs,
        "outputs": feasible.space.outputs,
        "embedding_parameters": feasible.space.embedding_parameters,
        "network_bytes": estimate_network_bytes(feasible.space, parts.task, plan.optimizer),
        "columns": parts.encoder.describe(),
        "limits": {limit.cost.name: limit.upper for limit in feasible.budget.limits},
        "widths": [list(layer) for layer in feasible.space.candidates],
        "architectures": feasible.space.size,
        "feasible": feasible.count() if feasible.is_exact else None,
        "cheapest": str(feasible.cheapest()),
        "dearest": str(feasible.most_expensive()),
        "search_epochs": plan.search.epochs,
        "epochs": plan.training.epochs,
        "batch_size": plan.training.batch_size,
        "candidates": plan.candidates,
        "folds": plan.folds,
        "seconds": {name: round(value, 1) for name, value in plan.seconds.items()},
    }


def facts_of_tradeoff(tradeoff: PlannedTradeoff) -> dict[str, Any]:
    """The same for several limits: the plan of the loosest, whose search is that of all."""
    facts = facts_of_plan(tradeoff.runs[-1])
    seconds = facts["seconds"]
    trained = round(len(tradeoff.limits) * seconds["candidates"], 1)  # at most: others are smaller
    several = {"cost": tradeoff.cost, "limits": list(tradeoff.limits)}
    return facts | {"tradeoff": several, "seconds": seconds | {"candidates": trained}}


def show_plan(console: Console, facts: dict[str, Any]) -> None:
    """Print a plan."""
    table = _two_columns()
    rows = facts["rows"]
    table.add_row("target", shown(f"{facts['target']} ({facts['task']})"))
    table.add_row(
        "rows",
        f"{rows['training']:,} training, {rows['validation']:,} validation, {rows['test']:,} test",
    )
    embedded = facts["embedding_parameters"]
    table.add_row("columns", _columns(facts["columns"]))
    table.add_row(
        "network",
        f"{facts['inputs']:,} inputs, {facts['outputs']} output{'s' * (facts['outputs'] > 1)}"
        + (f", {embedded:,} parameters in embeddings" if embedded else ""),
    )
    taken = facts["network_bytes"]
    table.add_row(
        "memory",
        f"{size(sum(taken.values()))} for all networks together, weights and moments"
        + (f"; of it {size(taken['embeddings'])} for embeddings" if embedded else ""),
    )
    several = facts.get("tradeoff")
    if several is not None:
        listed = ", ".join(f"{limit:,}" for limit in several["limits"])
        table.add_row("limits", f"{several['cost']} <= {listed}; the plan is of the loosest")
    table.add_row("limit", " and ".join(f"{n} <= {m:,}" for n, m in facts["limits"].items()))
    for layer, widths in enumerate(facts["widths"], start=1):
        table.add_row(f"layer {layer}", _widths(widths))
    feasible = facts["feasible"]
    known = "unknown" if feasible is None else f"{feasible:,}"
    table.add_row("architectures", f"{known} feasible of {facts['architectures']:,}")
    table.add_row("", f"from {facts['cheapest']} to {facts['dearest']}")
    table.add_row(
        "search", f"{facts['search_epochs']} epochs, batches of {facts['batch_size']} rows"
    )
    how = f"{facts['folds']}-fold cross-validation" if facts["folds"] else "on validation rows"
    table.add_row("candidates", f"{facts['candidates']}, {facts['epochs']} epochs each, {how}")
    table.add_row("time", _about(facts["seconds"]))
    console.print(table)


def show_result(console: Console, result: RunResult, folder: str) -> None:
    """Print what was found."""
    table = _two_columns()
    table.add_row("architecture", shown(result.architecture, "bold", longest=LONGEST_ARCHITECTURE))
    for name, cost in result.costs.items():
        table.add_row(shown(name), shown(_held(name, cost, result), longest=LONGEST_NOTE))
    console.print(table)
    if len(result.limited_costs) > 1:
        console.print("a limit binds if it forbids a network that is one step wider", style="dim")
    console.print()
    if result.scores:
        show_scores(console, result.scores, f"{result.rows.test:,} test rows")
        console.print()
    _show_candidates(console, result)
    _show_limit_effects(console, result)
    for note in result.notes:
        console.print(shown(f"note: {note}", longest=LONGEST_NOTE))
    seconds = result.phase_seconds
    console.print(
        f"searched in {_duration(seconds.get('search', 0.0))}, {_counted(result.candidates)} "
        f"trained in {_duration(seconds.get('candidates', 0.0))}"
    )
    where = plain(folder, longest=200)
    held = "report.html, MODEL_CARD.md, model/, result.json, config.toml"
    console.print(f"{where}: {held}", markup=False)
    console.print(f"next: tabnas predict {where} new.csv --out predictions.csv", markup=False)


def _held(name: str, cost: CostUse, result: RunResult) -> str:
    """A cost beside its limit: the share, whether it binds, and what was measured of it."""
    value, limit = cost.value, cost.limit
    if limit is None:
        return amount(value)
    said = f"{amount(value)} of {limit:,} ({100 * cost.share:.0f} %)"
    if name in result.binding_limits:
        said += ", binds"
    measured = result.measured_latencies.get(name)
    if measured is not None:
        return f"{said}, measured {measured:,.1f}"
    return said if isinstance(value, int) else f"{said}, predicted"


def amount(cost: float) -> str:
    """A cost: a count, or something measured, of which further digits mean nothing.

    >>> amount(20_000), amount(61.3203125)
    ('20,000', '61.3')
    """
    return f"{cost:,}" if isinstance(cost, int) else f"{cost:,.1f}"


def show_scores(console: Console, scores: Mapping[str, Scores], where: str) -> None:
    """Print scores side by side, with their intervals."""
    console.print(shown(f"on {where}, with 95 % intervals", style="dim"))
    rows: dict[str, list[str]] = {}
    for metric, first in next(iter(scores.values())).items():
        found = [one.get(metric) for one in scores.values()]
        digits = digits_of(first.value)
        rows[metric] = ["" if one is None else said_interval(one, digits) for one in found]
    negative = any(" to " in said for row in rows.values() for said in row)
    table = Table(box=None, padding=(0, 1 if negative else 2, 0, 0))  # three of them in 80 columns
    table.add_column("")
    for name in scores:
        table.add_column(shown(name), justify="right")
    for metric, said in rows.items():
        table.add_row(shown(metric), *said)
    console.print(table)


def _show_candidates(console: Console, result: RunResult) -> None:
    if not result.candidates:
        return
    metric, limit = result.metric, result.main_cost
    judge = f"candidates, trained alone and judged by {result.chosen_by}"
    console.print(shown(judge, "dim", longest=LONGEST_NOTE))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column(shown(metric), justify="right")
    table.add_column(shown(limit), justify="right")
    digits = 1 + digits_of(result.candidates[0].score)
    for candidate in result.candidates:
        table.add_row(
            shown(candidate.architecture, longest=LONGEST_ARCHITECTURE),
            said_number(candidate.score, digits),
            amount(candidate.costs[limit]) if limit in candidate.costs else "",
        )
    console.print(table)
    console.print()


def _show_limit_effects(console: Console, result: RunResult) -> None:
    """What more or less room would give."""
    effects = {effect.factor: effect for effect in result.limit_effects}
    if 1.0 not in effects or len(effects) < 2:
        return
    words = {0.5: "half the limit", 1.0: "the limit", 2.0: "twice the limit"}
    console.print("what the limit costs, by the search's rough estimates", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("loss", justify="right")
    table.add_column("architecture")
    digits = digits_of(effects[1.0].one_shot_loss)
    for factor, effect in effects.items():
        loss = said_number(effect.one_shot_loss, digits)
        network = shown(effect.architecture, longest=LONGEST_ARCHITECTURE)
        table.add_row(words.get(factor, f"{factor:g} times the limit"), loss, network)
    console.print(table)
    console.print()


def _two_columns() -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    return table


def _widths(widths: list[int]) -> str:
    present = [str(width) for width in widths if width]
    said = (
        ", ".join(present) if len(present) <= 8 else f"{present[0]}, {present[1]}, … {present[-1]}"
    )
    absent = "absent, or " if 0 in widths else ""
    return f"{absent}{said}  ({len(present)} widths)"


def _counted(candidates: Sequence[CandidateResult]) -> str:
    return "1 candidate" if len(candidates) == 1 else f"{len(candidates)} candidates"


def _columns(described: dict[str, str]) -> str:
    """How many columns there are of each kind."""
    counts = Counter(words.partition(":")[0].partition(",")[0] for words in described.values())
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


def said_interval(score: Score, digits: int) -> str:
    """A value with its 95 % interval."""
    value, low, high = (said_number(end, digits) for end in (score.value, score.low, score.high))
    return f"{value} ({low}-{high})" if score.low >= 0 else f"{value} ({low} to {high})"


def digits_of(value: float) -> int:
    """Digits after the point for a value and its like: three, more or fewer where that is odd.

    >>> [digits_of(value) for value in (0.862, 0.041, 0.00034, 31.4, 62_000)]
    [3, 3, 5, 1, 0]
    """
    if value == 0 or 0.01 <= abs(value) <= 1:
        return 3
    return max(0, (2 if abs(value) > 1 else 1) - floor(log10(abs(value))))


def said_number(value: float, digits: int) -> str:
    """A value with so many digits after the point, if that is few enough to read."""
    if digits > MOST_DIGITS or abs(value) >= 1e9:
        return f"{value:.2g}"
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # without a sign if it rounds to zero


def _about(seconds: dict[str, float]) -> str:
    """How long a run takes, and what of it is for the comparison."""
    whole, trees = sum(seconds.values()), seconds["comparison"]
    beside = f", of which {_duration(trees)} to compare with boosted trees" if trees else ""
    return f"about {_duration(whole)}{beside}"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
