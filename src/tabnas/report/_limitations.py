"""The limitations of a model that follow from the result of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tabnas.formatting import format_count, format_score, greater_is_better, metric_label
from tabnas.report._markdown import escape, join_names
from tabnas.results import RunResult, Score

FEW_ROWS = 1_000
MIN_CLASS_ROWS = 20
"""Scores of a class with fewer rows are mostly chance."""


def list_limitations(result: RunResult) -> Iterator[str]:
    """Yield the limitations as sentences of Markdown; conclusions are left to people."""
    fit, tested = result.final_fit_rows, result.rows.test
    if fit < FEW_ROWS:
        yield f"It was trained on {format_count(fit, 'row')} only."
    if 0 < tested < FEW_ROWS:
        yield f"It was tested on {format_count(tested, 'row')} only; mind the intervals."
    rare = [name for name, count in _rows_by_class(result) if count < MIN_CLASS_ROWS]
    if rare:
        yield f"Classes with fewer than {MIN_CLASS_ROWS} rows to test them on: {join_names(rare)}."
    dropped = [name for name, encoding in result.columns.items() if is_dropped(encoding)]
    if dropped:
        yield f"Columns that it does not use: {join_names(dropped)}."
    pooled = [name for name, encoding in result.columns.items() if " pooled" in encoding]
    if pooled:
        yield f"Columns whose rare categories it does not distinguish: {join_names(pooled)}."
    yield from _compare_with_trees(result)
    if result.is_refitted:
        yield (
            f"Its final weights were trained on all {fit:,} rows after the scores were computed; "
            f"the scores are of weights trained on {result.scored_fit_rows:,} of them."
        )
    for note in result.notes:
        yield f"Note of the run: {escape(note.rstrip('.'))}."
    yield (
        "No analysis was made of whether it treats groups of people alike (fairness), of rows from "
        "other places or times, or of rows made to deceive it."
    )


def is_dropped(encoding: str) -> bool:
    """Return whether a column was left out, by the description of its encoding."""
    return encoding.startswith(("dropped", "constant"))


def _rows_by_class(result: RunResult) -> list[tuple[str, int]]:
    confusion = result.diagnostics and result.diagnostics.confusion
    if not confusion:
        return []
    counts = [(n, sum(row)) for n, row in zip(confusion.names, confusion.counts, strict=True)]
    return counts[:-1] if confusion.pooled_classes else counts


def _compare_with_trees(result: RunResult) -> Iterator[str]:
    """Yield a sentence if boosted trees are better by the metric of the run."""
    network: Mapping[str, Score] = result.scores.get("network", {})
    trees: Mapping[str, Score] = result.scores.get("boosted trees", {})
    name = result.metric
    if name not in network or name not in trees:
        return
    sign = 1 if greater_is_better(name) else -1
    if sign * trees[name].value > sign * network[name].value:
        yield (
            "Boosted trees, which have no limit, have the better "
            f"{escape(metric_label(name))} on the test rows: "
            f"{format_score(name, trees[name].value)} against "
            f"{format_score(name, network[name].value)}."
        )
