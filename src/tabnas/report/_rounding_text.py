"""What a run says about the precision of the weights."""

from __future__ import annotations

from tabnas.formatting import format_score, metric_label
from tabnas.results import RunResult


def describe_rounding(result: RunResult) -> str:
    """Return a sentence on the precision of the weights; "" for float32."""
    chosen = result.candidates[0] if result.candidates else None
    if chosen is None or chosen.score_before_rounding is None:
        return ""
    before = format_score(result.metric, chosen.score_before_rounding)
    after = format_score(result.metric, chosen.score)
    rows = "over the folds" if result.is_cross_validated else "on the validation rows"
    change = f"stayed {after}" if before == after else f"went from {before} to {after}"
    return (
        f"The weights are stored as {chosen.precision}. When they were rounded, "
        f"{metric_label(result.metric)} {rows} {change}."
    )
