"""How long a run or a trade-off took."""

from __future__ import annotations

from collections.abc import Mapping

from tabnas.results._fields import Real

MEASURED_PREFIX = "measured "
"""Latencies of the finished model are among the timings, under this prefix."""
TOTAL = "total"
"""The name of the total time among the timings."""


class TimedResult:
    """A result with the times that it took."""

    timings: Mapping[str, Real]  # seconds by phase, and measured latencies

    @property
    def phase_seconds(self) -> dict[str, float]:
        """The seconds that the jobs of each phase took; some work side by side."""
        return {
            name: seconds
            for name, seconds in self.timings.items()
            if name != TOTAL and not name.startswith(MEASURED_PREFIX)
        }

    @property
    def total_seconds(self) -> float | None:
        """The seconds from start to end, or None if nothing has measured them."""
        return self.timings.get(TOTAL)
