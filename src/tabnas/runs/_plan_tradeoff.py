"""Plan a trade-off: which limits share embeddings and a SuperNet, and what each will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from tabnas.decoding import to_python
from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.formatting import shorten
from tabnas.latency import Measure
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._plan_run import choose_metric, plan_own_teacher
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.plan._default_plan import default_candidates, default_reward
from tabnas.runs.plan._make_plan import make_plan
from tabnas.runs.plan._plan import Plan, SavedPlan
from tabnas.runs.plan._teacher_plan import check_own_teacher
from tabnas.runs.prepare._embedding_rule import fit_embeddings
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.runs.prepare._prepare import prepare_unlimited
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.space import (
    ABSENT,
    Architecture,
    SearchSpace,
    compute_costs,
    spanning_space,
)
from tabnas.stores import Store
from tabnas.teachers import EstimatorTeacher

CANDIDATES = 2
"""Candidates of each limit from the search, one fewer if networks of equal layers are tried; the
best of the limit before is a candidate, too (results/tradeoff_cost.md)."""
MAX_LIMITS = 50
MAX_LIMIT = 10**30
"""Limits are below it: folders are named by them, with at most 30 digits."""


def plan_tradeoff(
    data: LabelledTable | Store,
    settings: RunSettings,
    limits: Sequence[float],
    *,
    cost: str = "parameters",
    validation: LabelledTable | None = None,
    test: LabelledTable | None = None,
    teacher: EstimatorTeacher | None = None,
    saved_plan: Mapping[str, Any] | None = None,
    measure: Measure | None = None,
    on_progress: ProgressCallback = lambda progress: None,
) -> PlannedTradeoff:
    """Prepare the data and plan the work for several limits on one cost.

    Other limits of the settings apply to every model. All networks share the rows and the scales of
    their columns. Each limit has the vocabularies and embeddings that a search within it has;
    limits with the same ones share the space and one SuperNet. The other parameters are those of
    `plan_run`.
    """
    start = perf_counter()
    check_own_teacher(settings, teacher, data, validation)
    ascending = _check_limits(limits, cost)
    if settings.time is not None:
        raise TabNASError("time must not be set for a trade-off; leave it out")
    all_settings = [
        replace(settings, limits={**settings.limits, cost: limit}) for limit in ascending
    ]
    unlimited = prepare_unlimited(data, all_settings[-1], validation=validation, test=test)
    metric = choose_metric(settings, unlimited)
    earlier = None if saved_plan is None else SavedPlan.decode(saved_plan)

    def on_fraction(done: float) -> None:
        on_progress(Progress("measuring", done, note="this machine, once"))

    runs: list[PlannedRun] = []
    for number, (prepared, group) in enumerate(_group_by_embeddings(unlimited, all_settings)):
        plans: list[Plan] = []
        numbers = _get_group_plan(earlier, number)
        for limited in group:
            plan = make_plan(prepared, limited, numbers, measure=measure, on_fraction=on_fraction)
            plan = plan if teacher is None else plan_own_teacher(plan, teacher, prepared)
            candidates = default_candidates(plan.feasible.space, plan.equal_dimensions, CANDIDATES)
            plans.append(replace(plan, candidates=settings.candidates or candidates))
            numbers = SavedPlan.decode(plans[0].saved_plan)  # measure once for the group
        runs += [
            PlannedRun(
                settings=limited, data=prepared, plan=plan, metric=metric, own_teacher=teacher
            )
            for limited, plan in zip(group, _share_supernet(plans), strict=True)
        ]
    return PlannedTradeoff(cost, ascending, tuple(runs), perf_counter() - start)


def _group_by_embeddings(
    unlimited: PreparedData, all_settings: Sequence[RunSettings]
) -> list[tuple[PreparedData, list[RunSettings]]]:
    """Group settings that get the same embeddings, each group with its encoded rows."""
    groups: dict[Any, tuple[PreparedData, list[RunSettings]]] = {}
    for settings in all_settings:
        encoder, dimensions = fit_embeddings(unlimited.encoder, settings.computed_budget)
        rule = unlimited.knot_rule
        knots = () if rule is None else rule.choose(settings.computed_budget)
        embeddings = (encoder.n_categories, dimensions, knots)
        if embeddings not in groups:
            groups[embeddings] = (unlimited.limit_embeddings(settings.computed_budget), [])
        groups[embeddings][1].append(settings)
    return list(groups.values())


def _get_group_plan(saved: SavedPlan | None, number: int) -> SavedPlan | None:
    """Return the numbers of an earlier process for one group of limits."""
    if saved is None or not saved.latencies:
        return saved
    if number >= len(saved.latencies):
        raise TabNASError("the plan of the run: latencies has too few elements; start a new run")
    return replace(saved, latency=saved.latencies[number])


def _share_supernet(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans of a group in one space; the search of the loosest limit serves all."""
    if len(plans) == 1:
        return list(plans)
    space = spanning_space([plan.feasible.space for plan in plans])
    sets = [FeasibleSet(space, plan.feasible.budget) for plan in plans]
    *tighter, loosest = (
        replace(
            plan,
            feasible=feasible,
            search=replace(plan.search, reward=default_reward(feasible)),
        )
        for plan, feasible in zip(plans, sets, strict=True)
    )
    shared = replace(
        loosest.search,
        child_sampler="several_limits",
        child_sampler_options={"others": tuple(sets[:-1])},
    )
    return [*tighter, replace(loosest, search=shared)]


def _check_limits(limits: Sequence[float], cost: str) -> tuple[float, ...]:
    ascending = tuple(sorted(set(map(to_python, limits))))
    for limit in ascending:
        if _is_integer(cost) and limit % 1:
            raise TabNASError(f"limits on {cost} must be integers, got {limit!r}; round it down")
        if limit >= MAX_LIMIT:
            raise TabNASError(
                f"limits on {cost} must be below {MAX_LIMIT:g}, got {shorten(limit)}; lower it"
            )
    if not 2 <= len(ascending) <= MAX_LIMITS:
        raise TabNASError(
            f"a trade-off must have 2 to {MAX_LIMITS} different limits, got {len(ascending)}"
        )
    return ascending


def _is_integer(cost: str) -> bool:
    """Return whether a cost is an integer for every architecture."""
    smallest = SearchSpace([[ABSENT]], inputs=1, outputs=1)
    return isinstance(compute_costs(smallest, Architecture(())).get(cost), int)
