"""The chapters of the report, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabnas.report import figures
from tabnas.report._facts import RunFacts, Score
from tabnas.report._figure import Figure, Table
from tabnas.report._words import (
    PERCENT,
    cost_words,
    counted,
    duration,
    interval,
    isolated,
    listed,
    measured,
    metric_words,
    number,
    percent,
)
from tabnas.report.figures._limits import share_of

MOST_COLUMNS = 2_000
"""Listed in the report; all are in result.json."""
FEW_COLUMNS = 30


@dataclass(frozen=True)
class Section:
    """A chapter with its pictures."""

    key: str
    title: str
    figures: Sequence[Figure]


def sections(facts: RunFacts) -> list[Section]:
    """What was found, how, how far to trust it, and what became of the columns."""
    mistakes = (
        [figures.residuals(facts)]
        if facts.task == "regression"
        else [figures.confusion(facts), figures.reliability(facts)]
    )
    return [
        Section(
            "found",
            "What was found",
            [
                figures.limits(facts),
                figures.network(facts),
                figures.scores(facts),
                *_outlook(facts),
            ],
        ),
        Section(
            "how",
            "How it was found",
            [
                figures.heat_maps(facts),
                figures.feasible_probability(facts),
                figures.quality(facts),
                figures.candidates(facts),
                figures.one_shot_calibration(facts),
            ],
        ),
        Section("trust", "How far to trust it", mistakes),
        Section("columns", "The columns", [figures.importance(facts)]),
    ]


def headline(facts: RunFacts) -> str:
    """What was found, in a sentence."""
    hidden = len(facts.widths)
    kind = (
        "A linear network"
        if not hidden
        else f"A network of {counted(hidden, 'hidden layer')}, {facts.architecture},"
        if hidden <= 8
        else f"A network of {counted(hidden, 'hidden layer')}"
    )
    uses = [
        f"{number(cost.value)} of {number(cost.limit or 0.0)} {cost_words(cost.name)} "
        f"({percent(share_of(cost))})"
        for cost in facts.limits
    ]
    return f"{kind} with {listed(uses)}." if uses else f"{kind.rstrip(',')}."


def verdict(facts: RunFacts) -> str:
    """How good it is, in a sentence, on rows that it has not seen."""
    found = facts.scores.get("network", {})
    wanted = dict.fromkeys(["accuracy" if facts.classes else "r2", facts.metric])
    said = [
        f"{metric_words(name)} {_with_interval(name, found[name])}"
        for name in wanted
        if name in found
    ]
    if said:
        begun = listed(said)
        rows = counted(facts.rows.get("test", 0), "test row")
        return f"{begun[:1].upper()}{begun[1:]} on {rows}."
    if facts.candidates:
        best = facts.candidates[0].result
        return (
            f"No rows were kept for a test. By {isolated(facts.chosen_by)}, which also chose it, "
            f"its {metric_words(facts.metric)} is {measured(facts.metric, best)}."
        )
    return "No rows were kept for a test."


def _with_interval(metric: str, score: Score) -> str:
    value, low, high = interval(metric, score.value, score.low, score.high)
    return f"{value} (95{PERCENT} interval {low} to {high})"


def columns_table(facts: RunFacts) -> Table:
    """What was done to each column."""
    rows = [[isolated(name), words] for name, words in list(facts.columns.items())[:MOST_COLUMNS]]
    left = len(facts.columns) - len(rows)
    return Table(
        title=f"What was done to {counted(len(facts.columns), 'column')}",
        headings=["Column", "What was done"],
        rows=rows,
        note=f"{counted(left, 'more column')} are in result.json." if left else "",
    )


def work_table(facts: RunFacts) -> Table:
    """The work that was done, and the time it took."""
    plan, rows = facts.plan, facts.rows
    known = [
        f"{rows[part]:,} {part}" for part in ("training", "validation", "test") if part in rows
    ]
    said = [
        ["Rows", ", ".join(known)],
        ["Search", f"{counted(plan.search_epochs, 'epoch')}, batches of {plan.batch_size:,} rows"],
        ["Candidates", f"trained for up to {counted(plan.epochs, 'epoch')}, by {facts.chosen_by}"],
        ["Learning rate", f"{plan.learning_rate:g}"],
        ["Final weights", _last_training(facts)],
        ["Seed", str(facts.seed)],
        ["Versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())],
    ]
    began = "measured "  # latencies of the finished model stand among the times
    latencies = {n.removeprefix(began): t for n, t in facts.timings.items() if n.startswith(began)}
    said += [["Measured", f"{number(us)} {cost_words(name)}"] for name, us in latencies.items()]
    phases = {n: t for n, t in facts.timings.items() if not n.startswith(began)}
    spent = [f"{name} {duration(seconds)}" for name, seconds in phases.items()]
    return Table(
        title="The work in numbers",
        headings=["", ""],
        rows=[*said, ["Time", ", ".join(spent)]],
    )


def _last_training(facts: RunFacts) -> str:
    rows = counted(facts.learned_rows, "row")
    if facts.refitted:
        return f"learned from all {rows}, after all judging was done"
    unseen = "; they have not seen the test rows" if facts.rows.get("test") else ""
    return f"learned from {rows}, as they were judged{unseen}"


def _outlook(facts: RunFacts) -> list[Figure]:
    """What another limit would give, by the search's estimates."""
    if len(facts.effects) < 2:
        return []
    names = {0.5: "half the limit", 1.0: "the limit", 2.0: "twice the limit"}
    rows = [
        [
            names.get(effect.factor, f"{number(effect.factor)} times the limit"),
            number(effect.one_shot_loss),
            isolated(effect.architecture),
        ]
        for effect in facts.effects
    ]
    table = Table(
        title="What another limit would give",
        headings=["With", "Estimated loss", "Architecture"],
        rows=rows,
    )
    words = [
        "A rough outlook from what the search has seen, with its shared weights: estimates, not "
        "results. Nothing over the limit was trained."
    ]
    return [Figure(key="outlook", title="What another limit would give", words=words, table=table)]
