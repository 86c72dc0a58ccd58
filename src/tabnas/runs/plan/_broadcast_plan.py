"""One plan for all processes of a run: the first one measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.latency import LatencyTerms, Measure
from tabnas.model import Model
from tabnas.runs._process_group import ENGINE, ProcessGroup
from tabnas.runs.plan._plan import Plan, SavedPlan

MakePlan = Callable[[SavedPlan | None], Plan]


def broadcast_plan(
    make_plan: MakePlan, saved: SavedPlan | None, process_group: ProcessGroup
) -> Plan:
    """Return the plan of the first process, on whatever machine the others are."""
    plan = make_plan(saved) if process_group.is_first else None
    decisions = None
    if plan is not None:
        is_local = plan.latency is not None and plan.latency.is_local
        decisions = {"saved": plan.saved_plan, "is_local": is_local}
    decisions, _ = process_group.broadcast(decisions)
    plan = plan or make_plan(SavedPlan.decode(decisions["saved"]))
    if plan.engine != "torch":
        raise TabNASError(
            f"a run in several processes must use the engine torch, got {plan.engine}; give "
            "--engine torch to the search, or resume it in one process"
        )
    latency = plan.latency
    if latency is not None:
        measure = _measure_in_first_process(latency.measure, process_group)
        latency = replace(latency, is_local=decisions["is_local"], measure=measure)
    return replace(plan, engine=ENGINE, latency=latency)


def _measure_in_first_process(measure: Measure, process_group: ProcessGroup) -> Measure:
    """Return a function that measures in the first process, and returns that in all."""

    def measure_once(
        models: Sequence[Model], sample: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        measured = list(measure(models, sample, rows, terms)) if process_group.is_first else None
        received: list[float] = process_group.broadcast(measured)[0]
        return received

    return measure_once
