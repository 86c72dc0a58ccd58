"""Where a model ends: what the files of its run say against it."""

from __future__ import annotations

from collections.abc import Iterator

from tabnas.report._facts import RunFacts
from tabnas.report._markdown import escaped, named
from tabnas.report._words import counted, greater_is_better, measured, metric_words

FEW_ROWS = 1_000
RARE = 20
"""Rows of a class, below which nothing can be said of it."""


def limitations(facts: RunFacts) -> Iterator[str]:
    """Facts alone; what follows from them is for people to say."""
    learned, tested = facts.learned_rows, facts.rows.get("test", 0)
    if learned < FEW_ROWS:
        yield f"It learned from {counted(learned, 'row')} only."
    if 0 < tested < FEW_ROWS:
        yield f"It was tested on {counted(tested, 'row')} only; mind the intervals."
    rare = [name for name, count in _rows_by_class(facts) if count < RARE]
    if rare:
        yield f"Classes with fewer than {RARE} rows to judge them by: {named(rare)}."
    dropped = [name for name, words in facts.columns.items() if is_dropped(words)]
    if dropped:
        yield f"Columns that it does not use: {named(dropped)}."
    pooled = [name for name, words in facts.columns.items() if " pooled" in words]
    if pooled:
        yield f"Columns of which it cannot tell rare categories apart: {named(pooled)}."
    ahead = _ahead(facts)
    if ahead:
        yield ahead
    if facts.refitted:
        yield (
            f"Its final weights learned from all {learned:,} rows after all judging was done; the "
            f"scores are of weights trained on {facts.judged_rows:,} of them."
        )
    for note in facts.notes:
        yield f"Note of the run: {escaped(note.rstrip('.'))}."
    yield (
        "No analysis was made of whether it treats groups of people alike (fairness), of rows from "
        "other places or times, or of rows made to deceive it."
    )


def _rows_by_class(facts: RunFacts) -> list[tuple[str, int]]:
    found = facts.diagnostics and facts.diagnostics.confusion
    if not found:
        return []
    counts = [(name, sum(row)) for name, row in zip(found.names, found.counts, strict=True)]
    return counts[:-1] if found.pooled else counts


def _ahead(facts: RunFacts) -> str:
    """Whether trees, which keep no limit, predict better by the metric of the run."""
    ours, trees = (facts.scores.get(judge, {}) for judge in ("network", "boosted trees"))
    name = facts.metric
    if name not in ours or name not in trees:
        return ""
    sign = 1 if greater_is_better(name) else -1
    if not sign * trees[name].value > sign * ours[name].value:
        return ""
    return (
        "Boosted trees, which keep no limit, have the better "
        f"{escaped(metric_words(name))} on the test rows: {measured(name, trees[name].value)} "
        f"against {measured(name, ours[name].value)}."
    )


def is_dropped(words: str) -> bool:
    """Whether a column was left out, by what was done to it."""
    return words.startswith(("dropped", "constant"))
