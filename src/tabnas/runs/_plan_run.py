"""Plan a run: prepare its data, choose its metric, and plan its work."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from tabnas.errors import TabNASError
from tabnas.latency import Measure
from tabnas.model import Metric, default_metric, get_metric, primary_loss, trivial_prediction
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs.plan._broadcast_plan import broadcast_plan
from tabnas.runs.plan._make_plan import make_plan
from tabnas.runs.plan._plan import Plan, SavedPlan
from tabnas.runs.plan._teacher_plan import check_own_teacher, name_own_teacher
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.runs.prepare._prepare import prepare_data
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.stores import Store
from tabnas.teachers import EstimatorTeacher


def plan_run(
    data: LabelledTable | Store,
    settings: RunSettings,
    *,
    validation: LabelledTable | None = None,
    test: LabelledTable | None = None,
    teacher: EstimatorTeacher | None = None,
    saved_plan: Mapping[str, Any] | None = None,
    measure: Measure | None = None,
    on_progress: ProgressCallback = lambda progress: None,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> PlannedRun:
    """Prepare the data of a run and plan its work.

    Parameters
    ----------
    data
        A table, which is split and encoded, or a store, which is so already.
    validation, test
        Rows that replace a share of the table.
    teacher
        The user's own teacher, if `settings.teacher` is "own" and no columns hold its answers.
    saved_plan
        `Plan.saved_plan` of an earlier process, to resume its run: then nothing is measured.
    measure
        The function that measures the latency of models; by default, in the runtime of the
        settings.
    process_group
        The processes that execute the run together. Each reads and encodes the table; the first
        plans for all.
    """
    start = perf_counter()
    check_own_teacher(settings, teacher, data, validation)
    prepared = prepare_data(
        data, settings, validation=validation, test=test, process_group=process_group
    )
    metric = choose_metric(settings, prepared)

    def make(saved: SavedPlan | None) -> Plan:
        return make_plan(
            prepared,
            settings,
            saved,
            measure=measure,
            on_fraction=lambda done: on_progress(
                Progress("measuring", done, note="this machine, once")
            ),
        )

    earlier = None if saved_plan is None else SavedPlan.decode(saved_plan)
    plan = (
        make(earlier) if process_group.size == 1 else broadcast_plan(make, earlier, process_group)
    )
    run = PlannedRun(
        settings=settings,
        data=prepared,
        plan=plan if teacher is None else plan_own_teacher(plan, teacher, prepared),
        metric=metric,
        process_group=process_group,
        own_teacher=teacher,
        preparation_seconds=perf_counter() - start,
    )
    if process_group.size > 1:
        process_group.check_same(run.identity())
    return run


def plan_own_teacher(plan: Plan, teacher: EstimatorTeacher, data: PreparedData) -> Plan:
    """Return the plan with the user's own teacher; raise an error if it cannot teach."""
    teacher.check(data.target)
    if data.row_numbers is None:
        raise TabNASError(
            f"the teacher {teacher.name} must have all rows in one table, but test rows are given "
            "besides; leave them out, or give columns of its answers"
        )
    named = name_own_teacher(plan.teacher, teacher, data)
    if teacher.is_frozen:
        warnings.warn(named.notes[0], UserWarning, stacklevel=3)
    return replace(plan, teacher=named, notes=(*plan.notes, *named.notes))


def choose_metric(settings: RunSettings, data: PreparedData) -> Metric:
    """Return the metric that candidates are chosen by; raise an error if it has no value."""
    task = data.target.task
    metric = get_metric(settings.metric, task) if settings.metric else default_metric(task)
    _check_metric(metric, data)
    return metric


def _check_metric(metric: Metric, data: PreparedData) -> None:
    """Raise an error if the metric has no value on the rows that candidates are chosen by."""
    rows = data.train_and_validation if data.folds else data.validation
    any_prediction = trivial_prediction(data.target, rows.y, rows.weight, len(rows))
    primary_loss(metric, data.target, rows.y, any_prediction, rows.weight)
