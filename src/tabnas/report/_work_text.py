"""The versions that a result was made with, and the time it took, in words."""

from __future__ import annotations

from tabnas.formatting import format_duration
from tabnas.results import RunResult, TradeoffResult


def format_versions(result: RunResult | TradeoffResult) -> str:
    """Return the versions of Python and the packages."""
    return ", ".join(f"{name} {version}" for name, version in result.versions.items())


def format_times(result: RunResult | TradeoffResult) -> str:
    """Return the time that the jobs of each phase took, and the time from start to end."""
    times = [f"{name} {format_duration(t)}" for name, t in result.phase_seconds.items()]
    if result.total_seconds is not None:
        times.append(f"in all {format_duration(result.total_seconds)}")
    return ", ".join(times)
