"""What a run says about the measured latency of its model."""

from __future__ import annotations

from tabnas.formatting import cost_label, format_number, join_words
from tabnas.results import RunResult


def describe_latency(result: RunResult) -> str:
    """Return the measured latencies, and the machine and runtime they hold for; "" without any."""
    measured = [
        f"{format_number(us)} {cost_label(name)}" for name, us in result.measured_latencies.items()
    ]
    machine = result.plan.latency_machine
    return join_words(measured) + (f", on {machine}" if measured and machine else "")
