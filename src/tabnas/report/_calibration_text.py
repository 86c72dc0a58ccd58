"""The rows that the temperature of probabilities was fitted on, in words."""

from __future__ import annotations

from tabnas.results import RunResult


def name_calibration_rows(result: RunResult) -> str:
    """Return where the temperature was fitted."""
    if result.is_cross_validated:
        return "on the rows that the folds held out"
    return "on the validation rows"
