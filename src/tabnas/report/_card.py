"""The model card of a run: what its model is, for what, how good, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabnas.report._commands import PREDICT, make_again, source_name, use_in_python
from tabnas.report._facts import RunFacts, read_facts
from tabnas.report._given import Given
from tabnas.report._limitations import is_dropped, limitations
from tabnas.report._markdown import bullets, code, escaped, named, table
from tabnas.report._sections import headline, verdict
from tabnas.report._words import (
    cost_words,
    counted,
    greater_is_better,
    interval,
    listed,
    measured,
    metric_words,
    number,
    percent,
)

TO_FILL_IN = "**To fill in:**"
EXPORT = "tabnas export . model.onnx"
MOST_COLUMNS = 500
MOST_IMPORTANT = 10
TASKS = {
    "binary": "one of two classes",
    "multiclass": "one of several classes",
    "regression": "a number",
}


def render_card(result: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The model card of a run, as Markdown.

    A pure function of what `result.json` and `config.toml` hold. These may come from anybody:
    whatever is malformed is refused with its name, and every text is escaped. What only people can
    say is left for them, in lines that are marked.
    """
    facts = read_facts(result, [])
    chapters = {
        "What it is": _model(facts),
        "Intended use": _use(facts),
        "Data": _data(facts, config),
        "Metrics": _metrics(facts),
        "What it leans on": _importance(facts),
        "Limitations": bullets(limitations(facts)),
        "How it was made": _training(facts),
        "How to use it": _how_to_use(facts),
        "How to make it again": _again(facts, config),
        "Licence and contact": f"{TO_FILL_IN} under which licence the model may be used, and whom "
        "to ask about it.",
    }
    said = [f"# Model card: predicting {escaped(facts.target)}"]
    said += [f"## {title}\n\n{text}" for title, text in chapters.items() if text]
    return "\n\n".join(said) + "\n"


def _model(facts: RunFacts) -> str:
    version = facts.versions.get("tabnas", "")
    plan = facts.plan
    embedded = (
        f", {plan.embedding_parameters:,} of its parameters in embeddings of categories"
        if plan.embedding_parameters
        else ""
    )
    rows = [
        (
            cost_words(cost.name),
            number(cost.value),
            "none" if cost.limit is None else number(cost.limit),
            "" if not cost.limit else percent(cost.value / cost.limit),
        )
        for cost in facts.costs
    ]
    holds = all(cost.holds for cost in facts.limits)
    return "\n\n".join(
        [
            f"{escaped(headline(facts))} {escaped(verdict(facts))}",
            f"A feed-forward network with {counted(plan.inputs, 'input')} and "
            f"{counted(plan.outputs, 'output')}{embedded}, found and trained by tabnas "
            f"{escaped(version)}.",
            table(["Cost", "Value", "Limit", "Share"], rows),
            "Every limit holds." if holds else "**A limit does not hold.**",
        ]
    )


def _use(facts: RunFacts) -> str:
    used = [name for name, words in facts.columns.items() if not is_dropped(words)]
    what = TASKS.get(facts.task, facts.task)
    said = [
        f"Predicts the column {escaped(facts.target)} ({escaped(what)}) of a row from "
        f"{counted(len(used), 'column')}: {named(used)}.",
    ]
    if facts.classes:
        said.append(f"Its answers are {named(facts.classes)}, and a probability for each.")
    said += [
        "It is meant for rows that come about as those of the table below did. What it says of "
        "others was not looked at.",
        f"{TO_FILL_IN} by whom and for what it is to be used, and for what it must not be used.",
    ]
    return bullets(said)


def _data(facts: RunFacts, config: Mapping[str, Any]) -> str:
    source = source_name(config)
    rows = [
        (part, f"{facts.rows[part]:,}", what)
        for part, what in _purposes(facts).items()
        if part in facts.rows
    ]
    columns = list(facts.columns.items())
    said = [
        f"The table {escaped(source)}." if source else "A table that was given in Python.",
        table(["Part", "Rows", "What for"], rows),
        f"The final weights were trained on {counted(facts.learned_rows, 'row')}.",
        _split(config),
        "What was done to each column was found on rows that may be learned from, and is done "
        "alike to every row that is predicted. It says what becomes of missing values.",
        table(["Column", "What was done"], columns[:MOST_COLUMNS]),
    ]
    if len(columns) > MOST_COLUMNS:
        left = counted(len(columns) - MOST_COLUMNS, "more column")
        said.append(f"{left} are in `result.json`.")
    said.append(f"{TO_FILL_IN} where the rows come from, from when, and who is among them.")
    return "\n\n".join(filter(None, said))


def _purposes(facts: RunFacts) -> dict[str, str]:
    """Return what the rows of each part were used for."""
    if facts.cross_validated:
        learned = chosen = "to learn from and choose by, in turns; the final weights saw all"
    else:
        learned, chosen = "to learn from", "to choose by"
    judged = "seen only by the scores below"
    if facts.refitted:
        if not facts.cross_validated:
            chosen += "; the final weights learned from them, too"
        judged = "to judge by first; the final weights learned from them, too"
    return {"training": learned, "validation": chosen, "test": judged}


def _split(config: Mapping[str, Any]) -> str:
    """How rows came to be in their parts."""
    given = Given("config.toml", config)
    settings, data = given.get("settings"), given.get("data")
    order = None if settings is None else settings.get("order")
    column = None if settings is None else settings.get("order_column")
    by = "" if column is None else escaped(column.text())
    own = [part for part in ("validation", "test") if data is not None and data.get(part)]
    latest = "validation rows" if "test" in own else "test"
    ways = {
        "time": f"Rows were parted by time, the column {by}: the latest are the {latest}.",
        "group": f"Rows of one group, by the column {by}, are in one part.",
        "random": "Rows were parted at random.",
    }
    said = [ways.get("" if order is None or len(own) == 2 else order.text(), "")]
    if own:
        files = "a file" if len(own) == 1 else "files"
        said.append(f"The {listed(own)} rows came as {files} of their own.")
    return " ".join(filter(None, said))


def _metrics(facts: RunFacts) -> str:
    if not facts.scores:
        best = facts.candidates[0].result if facts.candidates else None
        judged = (
            ""
            if best is None
            else f" By {escaped(facts.chosen_by)}, which also chose it, its "
            f"{escaped(metric_words(facts.metric))} is {measured(facts.metric, best)}; that is "
            "more hopeful than a test would be."
        )
        return f"No rows were kept for a test.{judged}"
    judges = list(facts.scores)
    names = dict.fromkeys(name for scores in facts.scores.values() for name in scores)
    rows = []
    for name in names:
        better = "greater" if greater_is_better(name) else "less"
        cells = [_score(facts, judge, name) for judge in judges]
        rows.append([f"{metric_words(name)} ({better} is better)", *cells])
    said = [
        f"On {counted(facts.rows.get('test', 0), 'test row')}, with 95 % intervals. "
        "*Trivial* knows nothing but the target's distribution; *boosted trees* keep no limit.",
        table(["Metric", *(escaped(judge) for judge in judges)], rows),
        _errors(facts),
    ]
    return "\n\n".join(filter(None, said))


def _score(facts: RunFacts, judge: str, name: str) -> str:
    score = facts.scores[judge].get(name)
    if score is None:
        return ""
    value, low, high = interval(name, score.value, score.low, score.high)
    return f"{value} ({low} to {high})"


def _errors(facts: RunFacts) -> str:
    """Whether probabilities mean what they say, or how far off values are."""
    found = facts.diagnostics
    if found is None:
        return ""
    where = f"On the {escaped(found.rows)} rows"
    if found.reliability is not None:
        return (
            f"{where} a probability is {percent(found.reliability.gap)} off what happened, on "
            "average over ten groups of rows; one temperature was fitted beforehand, on rows held "
            "out."
        )
    if found.residuals is not None:
        at = dict(found.residuals.quantiles)
        spans = [(0.25, 0.75, "half of"), (0.025, 0.975, "95 % of")]
        said = [
            f"{words} the errors (truth less prediction) lie from {number(at[low])} to "
            f"{number(at[high])}"
            for low, high, words in spans
            if low in at and high in at
        ]
        return f"{where} {listed(said)}." if said else ""
    return ""


def _importance(facts: RunFacts) -> str:
    found = facts.diagnostics and facts.diagnostics.importance
    if not found or not found.columns:
        return ""
    shown = found.columns[:MOST_IMPORTANT]
    rows = [(one.column, number(one.increase), number(one.deviation)) for one in shown]
    left = len(found.columns) - len(shown)
    which = f" The first {MOST_IMPORTANT} of {len(found.columns):,} columns:" if left > 0 else ""
    return "\n\n".join(
        [
            f"How much worse the {escaped(metric_words(facts.metric))} gets when one column is "
            f"shuffled, on {counted(found.rows, 'row')}, {counted(found.repeats, 'time')} each. "
            "Columns that say the same stand in for one another, and each seems to matter "
            f"less.{which}",
            table(["Column", "Worse by", "Deviation"], rows),
        ]
    )


def _training(facts: RunFacts) -> str:
    plan = facts.plan
    within = (
        counted(plan.architectures, "network")
        if plan.feasible is None
        else f"{counted(plan.feasible, 'network')} within the limits"
    )
    return (
        f"Weights that {within} share were trained for {counted(plan.search_epochs, 'epoch')} "
        "together with a policy over widths, which learned where good networks within the limits "
        f"are. The {counted(len(facts.candidates), 'candidate')} that came of it "
        f"{'was' if len(facts.candidates) == 1 else 'were'} trained alone for up to "
        f"{counted(plan.epochs, 'epoch')}, and the best by {escaped(facts.chosen_by)} is the model."
    )


def _how_to_use(facts: RunFacts) -> str:
    return "\n\n".join(
        [
            "In the folder of this card, on the command line:",
            code(PREDICT, "sh"),
            "In Python:",
            code(use_in_python(facts.task), "python"),
            "As one ONNX file with the preprocessing inside, for other runtimes:",
            code(EXPORT, "sh"),
        ]
    )


def _again(facts: RunFacts, config: Mapping[str, Any]) -> str:
    again = make_again(config, facts.target_name)
    versions = [f"{escaped(name)} {escaped(one)}" for name, one in facts.versions.items()]
    return "\n\n".join(
        [
            "The same rows, settings, seed and versions give the same network, bit for bit, unless "
            "the run was given a time or a limit on latency to keep.",
            code(again, "sh" if again.startswith("tabnas ") else "python"),
            f"Seed {facts.seed}; {', '.join(versions)}. All that was asked is in `config.toml`, "
            "all that was found in `result.json`, and pictures of both in `report.html`.",
        ]
    )
