"""Check measured latencies against the limits; predicted latencies are not enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tabnas.formatting import format_cost
from tabnas.model import Model
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._plan import Plan
from tabnas.space import Architecture, Precision

MAX_TRIES = 2
"""A model is too slow if this many measurements say so: other work on a machine only adds time."""
MIN_LAYERS_US = 1e-6
"""The least time that layers are taken to need, so that it can be divided by."""

Latencies = Mapping[str, float]
"""Microseconds by the name of the cost."""
Network = tuple[Architecture, Precision]
"""What latency depends on: not on the values of the weights."""


class LatencyCheck:
    """The latency limits of a plan, and whether measured latencies meet them."""

    def __init__(self, plan: Plan, latency: LatencyPlan) -> None:
        self._latency = latency
        self._searched_precision = plan.precisions[0]
        self.limits = {
            limit.cost.name: float(limit.upper)
            for limit in plan.feasible.budget.limits
            if limit.cost.name in latency.costs
        }

    def measure(self, models: Sequence[Model]) -> list[Latencies]:
        """Measure each model as it is exported; measure again those that are over a limit.

        The minimum of its measurements is used.
        """
        latencies = self._latency.measure_us(models)
        for _ in range(MAX_TRIES - 1):
            over = [k for k, us in enumerate(latencies) if self.violations(us)]
            if not over:
                break
            again = self._latency.measure_us([models[k] for k in over])
            for k, us in zip(over, again, strict=True):
                latencies[k] = {name: min(latencies[k][name], us[name]) for name in us}
        return list(latencies)

    def tighten(
        self,
        name: str,
        measured: Mapping[Network, float],
        predicted: Mapping[Network, float],
    ) -> float:
        """Return the limit on predictions that would have met the limit on measurements.

        If layers take r times what was predicted, in the median over networks, then predictions get
        1/r of the time for layers. The overhead was measured on this very table, and stays.
        """
        ratios = []
        for network, us in measured.items():
            overhead = self._overhead(name, network[1])
            layers_us = max(predicted[network] - overhead, MIN_LAYERS_US)
            ratios.append(max(us - overhead, 0.0) / layers_us)
        ratio = median(ratios)
        overhead = self._overhead(name, self._searched_precision)
        layers_us = max(self.limits[name] - overhead, 0.0)
        return overhead + layers_us / max(ratio, 1.0)

    def _overhead(self, name: str, precision: Precision) -> float:
        return self._latency.costs[name].at_precision(precision).overhead_us or 0.0

    def violations(self, measured: Latencies) -> list[str]:
        """Return the names of the costs whose limits these latencies exceed."""
        return [name for name, upper in self.limits.items() if measured[name] > upper]

    def describe_failure(self, measured: Sequence[Latencies]) -> str:
        """Return the error message for the case that every network was too slow."""
        lowest = {name: format_cost(min(us[name] for us in measured)) for name in self.limits}
        missed = [
            f"{name} <= {upper:g}, the lowest measured is {lowest[name]}"
            for name, upper in self.limits.items()
            if any(name in self.violations(us) for us in measured)
        ]
        return (
            f"no network was measured to meet {' and '.join(missed)}; raise the limit, leave out "
            "columns, or resume when the machine has less to do"
        )
