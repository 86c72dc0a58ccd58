"""The log of a fit."""

from __future__ import annotations

import logging
from typing import Any

from tabnas.formatting import format_cost
from tabnas.runs import FinishedRun, PlannedRun, Progress

LOGGER = logging.getLogger("tabnas")


class ProgressLogger:
    """Logs a line per step of a run to the logger `tabnas`, and prints it if `verbose`."""

    def __init__(self, verbose: Any) -> None:
        self._verbose = bool(verbose)
        self._last = ""

    def on_start(self, run: PlannedRun) -> None:
        """Log the size of the search."""
        feasible = run.plan.feasible
        count = f"{feasible.count():,}" if feasible.is_exact else "many"
        self._log(
            f"search: {len(run.data.train_and_validation):,} rows, {count} architectures within "
            f"{feasible.budget}"
        )

    def __call__(self, progress: Progress) -> None:
        """Log which architecture is being trained."""
        line = f"{progress.phase}: {progress.note}"
        if progress.note and line != self._last:
            self._last = line
            self._log(line)

    def on_end(self, finished: FinishedRun) -> None:
        """Log the architecture that was found, and its costs."""
        feasible, limits = finished.plan.feasible, finished.model.limits
        budget = feasible.budget.at_precision(finished.model.precision)
        costs = budget.costs(feasible.space, finished.model.architecture)
        used = ", ".join(
            f"{format_cost(costs[name])} of {upper:,} {name}" for name, upper in limits.items()
        )
        self._log(
            f"found: {finished.model.architecture}, {used}, in {finished.total_seconds:.1f} seconds"
        )

    def _log(self, line: str) -> None:
        LOGGER.info(line)
        if self._verbose:
            print(f"[tabnas] {line}", flush=True)
