"""What an estimator says while it fits."""

from __future__ import annotations

import logging
from typing import Any

from tabnas.runs import Outcome, PlannedRun, Progress

LOGGER = logging.getLogger("tabnas")


class Telling:
    """One line a step of the work: to the logger `tabnas` always, and printed if `verbose`."""

    def __init__(self, verbose: Any) -> None:
        self._verbose = bool(verbose)
        self._last = ""

    def begin(self, run: PlannedRun) -> None:
        """Say what is to be done."""
        feasible = run.plan.feasible
        number = f"{feasible.count():,}" if feasible.is_exact else "many"
        self._say(
            f"search: {len(run.data.development):,} rows, {number} architectures within "
            f"{feasible.budget}"
        )

    def __call__(self, progress: Progress) -> None:
        """Say which architecture is trained now."""
        line = f"{progress.phase}: {progress.note}"
        if progress.note and line != self._last:
            self._last = line
            self._say(line)

    def end(self, outcome: Outcome) -> None:
        """Say what was found."""
        feasible, limits = outcome.plan.feasible, outcome.model.limits
        costs = feasible.budget.costs(feasible.space, outcome.model.architecture)
        kept = ", ".join(f"{costs[name]:,} of {most:,} {name}" for name, most in limits.items())
        self._say(
            f"found: {outcome.model.architecture}, {kept}, "
            f"in {sum(outcome.seconds.values()):.1f} seconds"
        )

    def _say(self, line: str) -> None:
        LOGGER.info(line)
        if self._verbose:
            print(f"[tabnas] {line}", flush=True)
