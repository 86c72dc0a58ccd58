"""Execute a trade-off: the best model for each of several limits, from shared SuperNets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

from tabnas.feasible import FeasibleSet
from tabnas.jobs import JobConfig, check_cluster
from tabnas.nets import warm_up_engine
from tabnas.runs._context import RunContext
from tabnas.runs._execute_run import PlannedRun, start_references, train_and_evaluate
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._job_pool import JobPool
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs._run_teacher import run_teacher
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._parallel import train_in_parallel
from tabnas.runs.candidates._train_candidates import train_candidates
from tabnas.runs.checkpoints._run_checkpoint import RunCheckpoint
from tabnas.runs.checkpoints._step_checkpoint import (
    ScopedCheckpoint,
    StepCheckpoint,
    reject_malformed,
)
from tabnas.runs.search._find_candidates import (
    SearchResult,
    load_search_result,
    propose_candidates,
    run_search,
    save_when_infeasible,
)
from tabnas.runs.search._snapshots import SnapshotRecorder
from tabnas.search import FixedWeightsSearch
from tabnas.space import (
    Architecture,
    Precision,
)


@dataclass(frozen=True, eq=False)
class PlannedTradeoff:
    """A trade-off that is prepared and planned, and can be executed."""

    cost: str  # whose limit varies
    limits: tuple[float, ...]  # the tightest first
    runs: tuple[PlannedRun, ...]  # one for each limit, on the same rows
    preparation_seconds: float  # that preparation took

    @property
    def groups(self) -> list[tuple[PlannedRun, ...]]:
        """The runs by their embeddings, the tightest limits first.

        The runs of a group share the encoded rows, the space and a SuperNet.
        """
        groups: dict[int, list[PlannedRun]] = {}
        for run in self.runs:
            groups.setdefault(id(run.data), []).append(run)
        return [tuple(group) for group in groups.values()]

    @property
    def saved_plan(self) -> Mapping[str, Any]:
        """The numbers that a resumed trade-off must reuse: a `SavedPlan`."""
        plans = [group[-1].plan for group in self.groups]
        saved = plans[-1].saved_plan
        if len(plans) == 1 or plans[-1].latency is None:
            return saved
        # the latency of columns depends on their embeddings, and was measured for each group
        return saved | {"latencies": [plan.saved_plan["latency"] for plan in plans]}

    def identity(self) -> dict[str, Any]:
        """Return what two trade-offs must have in common for one to resume the other."""
        limits = {"the limits": f"{self.cost} <= {', '.join(map(str, self.limits))}"}
        if "latencies" in self.saved_plan:
            limits["the planned latencies"] = json.dumps(
                self.saved_plan["latencies"], sort_keys=True
            )
        return self.runs[-1].identity() | limits

    def execute(
        self,
        on_progress: ProgressCallback = lambda progress: None,
        checkpoint: RunCheckpoint | None = None,
        *,
        job_config: JobConfig | None = None,
    ) -> tuple[FinishedRun, ...]:
        """Execute the run of every limit; with a checkpoint's folder, stoppable at any moment.

        With a `job_config` the candidates of all limits are trained in parallel. That changes no
        bit of the results, if the machines round as this one does.
        """
        checkpoint, job_config = checkpoint or RunCheckpoint(), job_config or JobConfig()
        check_cluster(job_config)  # now, and not after the search
        with checkpoint.handle_signals(), JobPool(checkpoint) as pool:
            first, *others = _execute(
                self, pool.serialize(on_progress), checkpoint, pool, job_config
            )
        return (first.add_preparation(self.preparation_seconds), *others)


def _execute(
    tradeoff: PlannedTradeoff,
    on_progress: ProgressCallback,
    checkpoint: RunCheckpoint,
    pool: JobPool,
    job_config: JobConfig,
) -> tuple[FinishedRun, ...]:
    with pool.measure("preparation"):
        warm_up_engine(tradeoff.runs[0].plan.engine)
    measures_latency = tradeoff.runs[0].plan.latency is not None
    group_scopes = [
        ScopedCheckpoint(checkpoint, f"group {number}")
        for number in range(1, len(tradeoff.groups) + 1)
    ]
    callbacks = _share_phase(on_progress, ["search" in scope for scope in group_scopes])
    groups = []
    for group, callback, scope in zip(tradeoff.groups, callbacks, group_scopes, strict=True):
        groups.append(pool.start("search", partial(_search_group, group, callback, scope)))
        if measures_latency:
            groups[-1].result()  # nothing may work beside it
    get_references = start_references(tradeoff.runs[-1], on_progress, checkpoint, pool)
    # one teacher for all limits
    answers, teachers = run_teacher(tradeoff.runs[-1], on_progress, checkpoint, pool)
    searches = [
        search
        for runs, group in zip(tradeoff.groups, groups, strict=True)
        for search in _drop_repeated(runs, group.result())
    ]
    runs = [replace(run, answers=answers, teachers=teachers) for run in tradeoff.runs]
    scopes = [ScopedCheckpoint(checkpoint, f"limit {limit}") for limit in tradeoff.limits]
    if not job_config.in_process:
        with pool.measure("candidates"):
            train_in_parallel(runs, searches, scopes, checkpoint, on_progress, job_config)
    finished_runs: list[FinishedRun] = []
    for limit, planned, search, scope in zip(tradeoff.limits, runs, searches, scopes, strict=True):
        run: RunContext = planned
        on_limit_progress = _prefix_notes(on_progress, f"limit {limit:,}: ")
        earlier = _carry_over(finished_runs[-1]) if finished_runs else []
        if finished_runs and finished_runs[-1].data is not run.data:
            candidates = train_candidates(run, search.architectures, on_limit_progress, scope, pool)
            best = min((candidate.loss for candidate in candidates), default=inf)
            if best <= finished_runs[-1].chosen.loss:
                earlier = []
            else:  # wider embeddings did not pay
                run = _reuse_embeddings(run, finished_runs[-1])
                search = search.without(search.architectures)
        finished_runs.append(
            train_and_evaluate(
                run, search, on_limit_progress, scope, pool, get_references, earlier=earlier
            )
        )
    return tuple(finished_runs)


def _reuse_embeddings(run: RunContext, finished: FinishedRun) -> RunContext:
    """Return the run of a limit with the embeddings of a tighter one."""
    plan = finished.plan
    budget = run.settings.full_budget(plan.latency.costs if plan.latency else {})
    feasible = FeasibleSet(plan.feasible.space, budget)
    return replace(run, data=finished.data, plan=replace(plan, feasible=feasible))


def _drop_repeated(
    runs: Sequence[RunContext], searches: Sequence[SearchResult]
) -> list[SearchResult]:
    """Return the searches without candidates that a tighter limit has already.

    A candidate that fits in one more precision is a new one.
    """
    new: list[SearchResult] = []
    seen: dict[Architecture, tuple[Precision, ...]] = {}
    for run, search in zip(runs, searches, strict=True):
        fitting = {network: run.plan.list_precisions(network) for network in search.architectures}
        new.append(search.without({n for n, fits in fitting.items() if seen.get(n) == fits}))
        seen |= fitting
    return new


def _carry_over(finished: FinishedRun) -> list[Candidate]:
    """Return the candidates of a tighter limit that compete within the next one.

    These are the chosen one and those that were better, but too slow for the tighter limit.
    """
    best = finished.chosen
    return [one for one in finished.candidates if one is best or one.loss < best.loss]


def _search_group(
    runs: Sequence[RunContext], on_progress: ProgressCallback, checkpoint: StepCheckpoint
) -> list[SearchResult]:
    """Train one SuperNet with children of all limits of a group, and a policy for each limit."""
    *tighter, loosest = runs
    if "search" in checkpoint:
        with reject_malformed():
            results = checkpoint.result("search")
            return [
                load_search_result(result, run.plan)
                for result, run in zip(results, runs, strict=True)
            ]
    search, recorder = run_search(loosest, on_progress, checkpoint)
    searches: list[SearchResult] = []
    for run in tighter:
        tighter_search = FixedWeightsSearch(
            run.plan.feasible,
            search.net,
            search.validation,
            run.plan.search,
            steps=search.policy_steps,
        )
        tighter_recorder = SnapshotRecorder(tighter_search)
        tighter_search.run(tighter_recorder.on_step)
        with save_when_infeasible(checkpoint):
            searches.append(propose_candidates(tighter_search, run, tighter_recorder, on_progress))
    with save_when_infeasible(checkpoint):
        searches.append(propose_candidates(search, loosest, recorder, on_progress))
    checkpoint.record("search", searches)
    if loosest.plan.latency is not None:
        checkpoint.save()  # a resumed run must not measure again and decide otherwise
    return searches


def _share_phase(on_progress: ProgressCallback, are_done: Sequence[bool]) -> list[ProgressCallback]:
    """Return a callback for each search of several that may work side by side.

    The phase is as far as their mean. Only the first search that is not done reports, so that the
    reports do not alternate between spaces.
    """
    fractions = [float(is_done) for is_done in are_done]

    def report(number: int, progress: Progress) -> None:
        if progress.phase != "search":
            on_progress(progress)
            return
        is_first = all(done == 1 for done in fractions[:number])
        fractions[number] = progress.done
        if is_first:
            on_progress(replace(progress, done=sum(fractions) / len(fractions)))

    return [partial(report, number) for number in range(len(fractions))]


def _prefix_notes(on_progress: ProgressCallback, prefix: str) -> ProgressCallback:
    return lambda progress: on_progress(replace(progress, note=prefix + progress.note))
