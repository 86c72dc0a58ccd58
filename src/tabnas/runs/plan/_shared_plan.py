"""One plan for all processes of a run: what is measured is measured by the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.latency import LatencyTerms, Measure
from tabnas.model import Model
from tabnas.runs._ranks import ENGINE, Ranks
from tabnas.runs.plan._plan import Plan

Planned = Callable[[Mapping[str, Any] | None], Plan]
"""A plan, from what an earlier process has settled, if one has."""


def shared_plan(planned: Planned, resolved: Mapping[str, Any] | None, ranks: Ranks) -> Plan:
    """The plan of the first process, whatever machines the others are on."""
    own = planned(resolved) if ranks.first else None
    said = None
    if own is not None:
        said = {"resolved": own.resolved, "here": own.latency is not None and own.latency.here}
    said, _ = ranks.told(said)
    plan = own or planned(said["resolved"])
    if plan.engine != "torch":
        raise TabNASError(
            "a run in several processes must have the engine torch, but it has "
            f"{plan.engine}; give --engine torch to the search, or go on in one process"
        )
    latency = plan.latency
    if latency is not None:
        shared = _measured_by_the_first(latency.measure, ranks)
        latency = replace(latency, here=said["here"], measure=shared)
    return replace(plan, engine=ENGINE, latency=latency)


def _measured_by_the_first(measure: Measure, ranks: Ranks) -> Measure:
    def measured(
        models: Sequence[Model], sample: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        found = list(measure(models, sample, rows, terms)) if ranks.first else None
        told: list[float] = ranks.told(found)[0]
        return told

    return measured
