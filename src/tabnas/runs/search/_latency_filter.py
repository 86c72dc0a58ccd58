"""Candidates that meet the latency limits when measured, before any of them is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs.plan._latency import make_untrained_model
from tabnas.runs.plan._latency_check import Latencies, LatencyCheck, Network
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture, Budget, Limit, Precision

MAX_ROUNDS = 8
"""How often candidates are selected again before those that meet the limits must do."""

Propose = Callable[[FeasibleSet], list[Architecture]]


@dataclass(frozen=True)
class FilteredCandidates:
    """Candidates that meet the limits when measured, and those that do not."""

    architectures: tuple[Architecture, ...]
    dropped: tuple[Architecture, ...] = ()


def filter_by_latency(
    plan: Plan, data: PreparedData, propose: Propose, on_progress: ProgressCallback
) -> FilteredCandidates:
    """Return candidates that meet the latency limits when they are exported and measured.

    Latency does not depend on the values of the weights, so this needs no training. If it depends
    on their precision, a candidate is measured in each one that it may have, and must meet the
    limits in all of them. Candidates that are too slow are dropped, the limit on predictions is
    tightened, and candidates are proposed again within it; finally, only the fastest network of
    the space.
    """
    latency = plan.latency
    proposed = propose(plan.feasible)
    if latency is None or not latency.is_local:
        return FilteredCandidates(tuple(proposed))
    check = LatencyCheck(plan, latency)
    tightened = dict(check.limits)
    measured: dict[Network, Latencies] = {}
    dropped: list[Architecture] = []
    for number in range(MAX_ROUNDS):
        on_progress(Progress("measuring", number / MAX_ROUNDS, note="candidates"))
        networks = [network for one in proposed for network in _list_networks(plan, one)]
        new = [network for network in networks if network not in measured]
        models = [make_untrained_model(one, data, precision) for one, precision in new]
        measured |= zip(new, check.measure(models), strict=True)
        slow = [network for network in networks if check.violations(measured[network])]
        over = list(dict.fromkeys(architecture for architecture, _ in slow))
        if not over:
            return FilteredCandidates(tuple(proposed), tuple(dropped))
        dropped += over
        for name in {name for us in measured.values() for name in check.violations(us)}:
            cost, space = latency.costs[name], plan.feasible.space
            predicted = {
                (architecture, precision): cost.at_precision(precision)(space, architecture)
                for architecture, precision in measured
            }
            tightened[name] = check.tighten(
                name, {network: us[name] for network, us in measured.items()}, predicted
            )
            if len(over) == len(proposed):  # the next must be predicted to be faster than all
                searched = cost.at_precision(plan.precisions[0])
                fastest = min(searched(space, architecture) for architecture in dropped)
                tightened[name] = min(tightened[name], fastest - cost.resolution)
        proposed = [
            network
            for network in _propose_within(plan, tightened, propose)
            if network not in dropped
        ]
        if not proposed:
            break
    remaining = list(dict.fromkeys(one for one, _ in measured if one not in dropped))
    if not remaining:
        raise InfeasibleError(check.describe_failure(list(measured.values())))
    return FilteredCandidates(tuple(remaining), tuple(dropped))


def _list_networks(plan: Plan, architecture: Architecture) -> list[Network]:
    """Return an architecture in the precisions that it is measured in."""
    assert plan.latency is not None
    if not plan.latency.depends_on_precision:
        return [(architecture, Precision.FLOAT32)]
    return [(architecture, precision) for precision in plan.list_precisions(architecture)]


def _propose_within(
    plan: Plan, uppers: Mapping[str, float], propose: Propose
) -> list[Architecture]:
    """Return candidates within tighter limits, or the fastest network if there are none."""
    limits = [
        Limit(limit.cost, max(0.0, uppers.get(limit.cost.name, limit.upper)))
        for limit in plan.feasible.budget.limits
    ]
    try:
        return propose(FeasibleSet(plan.feasible.space, Budget(*limits)))
    except InfeasibleError:
        return [plan.feasible.cheapest(next(iter(uppers)))]
