"""Make the plan of a run: the default one, or one that fits the user's time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tabnas.errors import InfeasibleError
from tabnas.latency import Measure
from tabnas.runs.plan._default_plan import make_default_plan
from tabnas.runs.plan._latency import plan_latency
from tabnas.runs.plan._plan import Plan, SavedPlan
from tabnas.runs.plan._time_limit import (
    fit_time,
    leave_out_teachers,
    narrow_to_time,
    note_short_time,
)
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings


def make_plan(
    data: PreparedData,
    settings: RunSettings,
    saved: SavedPlan | None = None,
    *,
    measure: Measure | None = None,
    on_fraction: Callable[[float], None] = lambda done: None,
) -> Plan:
    """Return the plan of a run.

    Parameters
    ----------
    saved
        The numbers of an earlier process, if its run is resumed.
    measure
        The function that measures the latency of models; by default, in the runtime of the
        settings.
    on_fraction
        Receives how much of the measuring of this machine is done.
    """
    latency = plan_latency(
        data,
        settings,
        None if saved is None else saved.latency,
        resume=saved is not None,
        measure=measure,
        on_fraction=on_fraction,
    )
    limit_share = 1.0 if saved is None else saved.limit_share
    try:
        plan = make_default_plan(data, settings, latency, limit_share)
    except InfeasibleError:
        if latency is None or saved is not None:
            raise
        latency = latency.remeasure(data)  # a busy moment must not make a limit infeasible
        plan = make_default_plan(data, settings, latency, limit_share)
    default_epochs = plan.training.epochs
    if saved is not None:
        plan = plan.with_saved(saved)
    elif settings.time is not None:
        plan = leave_out_teachers(plan, settings)
        plan = narrow_to_time(plan, data, settings)
        plan = fit_time(plan, settings.time, keep_candidates=settings.candidates is not None)
    notes = (*plan.teacher.notes, *note_short_time(plan, settings, default_epochs))
    return replace(plan, notes=notes)
