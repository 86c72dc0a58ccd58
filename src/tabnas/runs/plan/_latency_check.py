"""The promise of a latency limit: what was measured has kept it, not only what was predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.latency import untrained_model
from tabnas.model import Model
from tabnas.runs._progress import Observer, Progress
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.space import Architecture, Budget, Limit

ROUNDS = 8
"""How often candidates are picked before those that have kept the limit must do."""
TRIES = 2
"""Measurements that must all be over the limit: other work on a machine only ever adds time."""

TINY = 1e-6  # microseconds

Measured = Mapping[str, float]  # microseconds, by the name of the cost
Propose = Callable[[FeasibleSet], list[Architecture]]


@dataclass(frozen=True)
class Kept:
    """Candidates that keep the limit when measured, and those that did not."""

    architectures: tuple[Architecture, ...]
    dropped: tuple[Architecture, ...] = ()


def kept_proposals(plan: Plan, parts: Parts, propose: Propose, tell: Observer) -> Kept:
    """Candidates whose files keep the latency limits, measured before any of them is trained.

    Weights do not matter to latency. What takes too long is dropped, the limit on predictions is
    tightened, and candidates are picked again within it; in the end the fastest network there is.
    """
    latency = plan.latency
    proposed = propose(plan.feasible)
    if latency is None or not latency.here:
        return Kept(tuple(proposed))
    promise = Promise(plan, latency)
    tight = dict(promise.limits)
    seen: dict[Architecture, Measured] = {}
    dropped: list[Architecture] = []
    for number in range(ROUNDS):
        tell(Progress("measuring", number / ROUNDS, note="candidates"))
        new = [one for one in proposed if one not in seen]
        models = [
            untrained_model(one, parts.encoder, parts.target, parts.dimensions) for one in new
        ]
        seen |= zip(new, promise.measured(models), strict=True)
        over = [one for one in proposed if promise.broken(seen[one])]
        if not over:
            return Kept(tuple(proposed), tuple(dropped))
        dropped += over
        for name in {name for one in dropped for name in promise.broken(seen[one])}:
            costs = {one: latency.costs[name](plan.feasible.space, one) for one in seen}
            tight[name] = promise.tightened(
                name, {one: us[name] for one, us in seen.items()}, costs
            )
            if len(over) == len(proposed):  # then the next must be predicted to be faster than any
                step = latency.costs[name].resolution
                tight[name] = min(tight[name], min(costs[one] for one in dropped) - step)
        proposed = [one for one in _within(plan, tight, propose) if one not in dropped]
        if not proposed:
            break
    kept = [one for one in seen if one not in dropped]
    if not kept:
        raise InfeasibleError(promise.refusal(list(seen.values())))
    return Kept(tuple(kept), tuple(dropped))


def _within(plan: Plan, tight: Mapping[str, float], propose: Propose) -> list[Architecture]:
    """Candidates within tighter limits, or the fastest network if there are none."""
    limits = [
        Limit(limit.cost, max(0.0, tight.get(limit.cost.name, limit.upper)))
        for limit in plan.feasible.budget.limits
    ]
    try:
        return propose(FeasibleSet(plan.feasible.space, Budget(*limits)))
    except InfeasibleError:
        return [plan.feasible.cheapest(next(iter(tight)))]


class Promise:
    """The latency limits of a plan, and whether measured latencies keep them."""

    def __init__(self, plan: Plan, latency: LatencyPlan) -> None:
        self._latency = latency
        self.limits = {
            limit.cost.name: float(limit.upper)
            for limit in plan.feasible.budget.limits
            if limit.cost.name in latency.costs
        }

    def measured(self, models: Sequence[Model]) -> list[Measured]:
        """What each model's file takes: the least of some tries, where the first are too much."""
        found = self._latency.measured_us(models)
        for _ in range(TRIES - 1):
            over = [k for k, one in enumerate(found) if self.broken(one)]
            if not over:
                break
            again = self._latency.measured_us([models[k] for k in over])
            for k, us in zip(over, again, strict=True):
                found[k] = {name: min(found[k][name], us[name]) for name in us}
        return list(found)

    def tightened(
        self,
        name: str,
        measured: Mapping[Architecture, float],
        predicted: Mapping[Architecture, float],
    ) -> float:
        """The limit on predictions that would have kept the limit on what was measured.

        If layers take r times what was predicted, in the median over networks, then predictions
        have 1/r of the room. The overhead was measured on this very table, and stays.
        """
        overhead = self._latency.costs[name].overhead_us or 0.0
        ratio = median(
            max(measured[one] - overhead, 0.0) / max(predicted[one] - overhead, TINY)
            for one in measured
        )
        room = max(self.limits[name] - overhead, 0.0)
        return overhead + room / max(ratio, 1.0)

    def broken(self, measured: Measured) -> list[str]:
        """The costs whose limits these latencies exceed."""
        return [name for name, most in self.limits.items() if measured[name] > most]

    def refusal(self, seen: Sequence[Measured]) -> str:
        """Why there is no model, with what would have to be allowed."""
        least = [
            f"{name} <= {most:g}, of which the least that was measured is "
            f"{min(one[name] for one in seen):.1f}"
            for name, most in self.limits.items()
            if any(name in self.broken(one) for one in seen)
        ]
        return (
            f"no network was measured to hold {' and '.join(least)}; raise the limit, leave out "
            "columns, or go on when the machine has less to do"
        )
