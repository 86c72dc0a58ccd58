"""The precision of the weights, and what rounding them has changed, in words."""

from __future__ import annotations

from tabnas.formatting import format_score, metric_label
from tabnas.results import RunResult


def summarize_rounding(result: RunResult) -> str:
    """Return the precision, and the score before and after rounding; "" for float32."""
    chosen = result.candidates[0] if result.candidates else None
    if chosen is None or chosen.score_before_rounding is None:
        return ""
    before = format_score(result.metric, chosen.score_before_rounding)
    after = format_score(result.metric, chosen.score)
    metric = metric_label(result.metric)
    return f"{chosen.precision}; {metric} {before} before rounding, {after} after"


def describe_rounding(result: RunResult) -> str:
    """Return a sentence on the precision of the weights; "" for float32."""
    summary = summarize_rounding(result)
    rows = "over the folds" if result.is_cross_validated else "on the validation rows"
    return f"The weights are stored as {summary}, {rows}." if summary else ""
