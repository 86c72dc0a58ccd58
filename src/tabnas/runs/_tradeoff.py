"""Several limits at once: what every bit of cost buys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.jobs import JobConfig, check_cluster
from tabnas.latency import Measure, measure_models
from tabnas.nets import load_engine
from tabnas.runs._phases import timed
from tabnas.runs._pipeline import Outcome, PlannedRun, conclude, metric_of
from tabnas.runs._progress import Observer, Progress
from tabnas.runs._settings import RunSettings
from tabnas.runs.candidates._parallel import train_side_by_side
from tabnas.runs.candidates._train_candidates import tried_alone
from tabnas.runs.candidates._training import Candidate
from tabnas.runs.checkpoints._run_checkpoint import Entries, Ledger, Section, believed
from tabnas.runs.evaluation._scores import references
from tabnas.runs.plan._plan import Plan, make_plan
from tabnas.runs.prepare._embedding_rule import fit_embeddings
from tabnas.runs.prepare._labelled_table import Labelled
from tabnas.runs.prepare._prepare import prepare_uncut
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.runs.search._search_step import Found, found_by, kept_when_refused, run_search
from tabnas.runs.search._trace import Trace
from tabnas.search import FrozenSearch
from tabnas.space import ABSENT, Architecture, SearchSpace, compute_costs, spanning_space
from tabnas.stores import Store

CANDIDATES = 2
"""Architectures trained alone for each limit, beside the best of the limit before
(results/tradeoff_cost.md)."""
MOST_LIMITS = 50


@dataclass(frozen=True, eq=False)
class PlannedTradeoff:
    """A trade-off of which everything is settled but the training."""

    cost: str  # whose limit varies
    limits: tuple[float, ...]  # the tightest first
    runs: tuple[PlannedRun, ...]  # one for each limit, on the same rows
    seconds: float  # that it took to get here

    @property
    def groups(self) -> list[tuple[PlannedRun, ...]]:
        """The runs by their embeddings, the tightest limits first.

        Those of a group share the encoding of the rows, the space and a SuperNet.
        """
        groups: dict[int, list[PlannedRun]] = {}
        for run in self.runs:
            groups.setdefault(id(run.parts), []).append(run)
        return [tuple(group) for group in groups.values()]

    @property
    def resolved(self) -> Mapping[str, Any]:
        """What a process that goes on must not settle anew."""
        plans = [group[-1].plan for group in self.groups]
        resolved = plans[-1].resolved
        if len(plans) == 1 or plans[-1].latency is None:
            return resolved
        # what the columns cost depends on their embeddings, and was measured for each group
        return resolved | {"latencies": [plan.resolved["latency"] for plan in plans]}

    def identity(self) -> dict[str, Any]:
        """What a trade-off must have in common with another to go on with it."""
        limits = {"the limits": f"{self.cost} <= {', '.join(map(str, self.limits))}"}
        if "latencies" in self.resolved:
            limits["the planned latencies"] = json.dumps(self.resolved["latencies"], sort_keys=True)
        return self.runs[-1].identity() | limits

    def execute(
        self,
        observe: Observer | None = None,
        ledger: Ledger | None = None,
        *,
        job_config: JobConfig | None = None,
    ) -> tuple[Outcome, ...]:
        """One outcome for each limit; with a ledger's folder, stoppable at any moment.

        Jobs by `job_config` train the candidates of all limits side by side, and change no bit of
        the outcomes where their machines round as this one does.
        """
        ledger, job_config = ledger or Ledger(), job_config or JobConfig()
        check_cluster(job_config)  # now, and not when the search is done
        with ledger.watching_signals():
            return _execute(self, observe or (lambda progress: None), ledger, job_config)


def plan_tradeoff(
    data: Labelled | Store,
    settings: RunSettings,
    limits: Sequence[float],
    *,
    cost: str = "parameters",
    validation: Labelled | None = None,
    test: Labelled | None = None,
    resolved: Mapping[str, Any] | None = None,
    measure: Measure = measure_models,
    observe: Observer = lambda progress: None,
) -> PlannedTradeoff:
    """Settle what is to be done for several limits on one cost; other limits stay as they are.

    All networks share the rows and the scales of their columns. Each limit has the vocabularies and
    embeddings that a search within it has. Limits with the same ones share the space and one
    SuperNet. The other arguments are those of `plan_run`.
    """
    began = perf_counter()
    ascending = _checked(limits, cost)
    if settings.time is not None:
        raise TabNASError("a trade-off has no time to keep; leave it out")
    wanted = [replace(settings, limits={**settings.limits, cost: limit}) for limit in ascending]
    uncut = prepare_uncut(data, wanted[-1], validation=validation, test=test)
    metric = metric_of(settings, uncut)

    def tell(done: float) -> None:
        observe(Progress("measuring", done, note="this machine, once"))

    runs: list[PlannedRun] = []
    for number, (parts, several) in enumerate(_by_embeddings(uncut, wanted)):
        plans: list[Plan] = []
        known = _resolved_of_group(resolved, number)
        for one in several:
            plan = make_plan(parts, one, known, measure=measure, tell=tell)
            plans.append(replace(plan, candidates=settings.candidates or CANDIDATES))
            known = plans[0].resolved  # measured, if at all, once
        runs += [
            PlannedRun(one, parts, plan, metric, 0.0)
            for one, plan in zip(several, _with_one_supernet(plans), strict=True)
        ]
    return PlannedTradeoff(cost, ascending, tuple(runs), perf_counter() - began)


def _by_embeddings(
    uncut: Parts, wanted: Sequence[RunSettings]
) -> list[tuple[Parts, list[RunSettings]]]:
    """Settings that get the same vocabularies and embeddings, with the parts that have them."""
    groups: dict[Any, tuple[Parts, list[RunSettings]]] = {}
    for one in wanted:
        encoder, dimensions = fit_embeddings(uncut.encoder, one.budget)
        embeddings = (encoder.categories, dimensions)
        if embeddings not in groups:
            groups[embeddings] = (uncut.within(one.budget), [])
        groups[embeddings][1].append(one)
    return list(groups.values())


def _resolved_of_group(resolved: Mapping[str, Any] | None, number: int) -> Mapping[str, Any] | None:
    """What an earlier process has settled for the limits of one group."""
    if resolved is None or "latencies" not in resolved:
        return resolved
    latencies = resolved["latencies"]
    if not isinstance(latencies, list) or number >= len(latencies):
        raise TabNASError("the latencies of the run's plan are malformed; begin a new run")
    return {**resolved, "latency": latencies[number]}


def _with_one_supernet(plans: Sequence[Plan]) -> list[Plan]:
    """The plans of one group in a space that spans theirs; the search of the loosest serves all."""
    if len(plans) == 1:
        return list(plans)
    space = spanning_space([plan.feasible.space for plan in plans])
    sets = [FeasibleSet(space, plan.feasible.budget) for plan in plans]
    *tighter, loosest = (replace(plan, feasible=own) for plan, own in zip(plans, sets, strict=True))
    shared = replace(
        loosest.search,
        child_sampler="several_limits",
        child_sampler_options={"others": tuple(sets[:-1])},
    )
    return [*tighter, replace(loosest, search=shared)]


def _checked(limits: Sequence[float], cost: str) -> tuple[float, ...]:
    ascending = tuple(sorted(set(limits)))
    for limit in ascending:
        if _is_counted(cost) and limit % 1:
            raise TabNASError(
                f"limits on {cost} must be whole numbers, since it is counted, got {limit!r}"
                "; round it down"
            )
    if not 2 <= len(ascending) <= MOST_LIMITS:
        raise TabNASError(
            f"a trade-off must have 2 to {MOST_LIMITS} different limits, got {len(ascending)}"
        )
    return ascending


def _is_counted(cost: str) -> bool:
    """Whether a cost is a number of something; a user's own may be measured."""
    smallest = SearchSpace([[ABSENT]], inputs=1, outputs=1)
    return isinstance(compute_costs(smallest, Architecture(())).get(cost), int)


def _execute(
    tradeoff: PlannedTradeoff, tell: Observer, ledger: Ledger, job_config: JobConfig
) -> tuple[Outcome, ...]:
    shared = {"preparation": tradeoff.seconds}
    with timed(shared, "preparation"):
        load_engine(tradeoff.runs[0].plan.engine)
    with timed(shared, "search"):
        found = [
            own
            for number, group in enumerate(tradeoff.groups)
            for own in _each_once(_searched(group, tell, Section(ledger, f"group {number + 1}")))
        ]
    sections = [Section(ledger, f"limit {limit}") for limit in tradeoff.limits]
    if not job_config.in_process:
        with timed(shared, "candidates"):
            train_side_by_side(tradeoff.runs, found, sections, ledger, tell, job_config)
    with timed(shared, "comparison"):
        beside = references(tradeoff.runs[-1], tell)
    outcomes: list[Outcome] = []
    for limit, run, new, section in zip(
        tradeoff.limits, tradeoff.runs, found, sections, strict=True
    ):
        telling = _telling(tell, f"limit {limit:,}: ")
        seconds = {} if outcomes else dict(shared)
        earlier = _carried_over(outcomes[-1]) if outcomes else []
        if outcomes and outcomes[-1].parts is not run.parts:
            with timed(seconds, "candidates"):
                tried = tried_alone(run, new.architectures, telling, section)
            if min(one.loss for one in tried) <= outcomes[-1].chosen.loss:
                earlier = []
            else:  # wider embeddings did not pay
                run = _within_limit_of(run, outcomes[-1])
                new = new.without(new.architectures)
        outcomes.append(
            conclude(run, new, telling, section, seconds, earlier=earlier, beside=beside)
        )
    return tuple(outcomes)


def _within_limit_of(run: PlannedRun, outcome: Outcome) -> PlannedRun:
    """The run of a limit with the embeddings of a tighter one."""
    plan = outcome.plan
    budget = run.settings.budget_with(plan.latency.costs if plan.latency else {})
    feasible = FeasibleSet(plan.feasible.space, budget)
    return replace(run, parts=outcome.parts, plan=replace(plan, feasible=feasible))


def _each_once(found: Sequence[Found]) -> list[Found]:
    """What was found for each limit and for none that is tighter."""
    new: list[Found] = []
    known: set[Any] = set()
    for own in found:
        new.append(own.without(known))
        known |= set(own.architectures)
    return new


def _carried_over(outcome: Outcome) -> list[tuple[Candidate, float]]:
    """What fits into a tighter limit fits into the next one, and the best of it is at hand.

    So is what was better still, but took longer than the tighter limit when it was measured.
    """
    tried = zip(outcome.candidates, outcome.one_shot, strict=True)
    best = outcome.chosen
    return [(one, loss) for one, loss in tried if one is best or one.loss < best.loss]


def _searched(runs: Sequence[PlannedRun], tell: Observer, ledger: Entries) -> list[Found]:
    """One SuperNet, trained by children of all limits of a group, and a policy for each of them."""
    *tighter, loosest = runs
    if "search" in ledger:
        with believed():
            facts = ledger.facts("search")
            return [Found.of(own, run.plan.feasible) for own, run in zip(facts, runs, strict=True)]
    search, trace = run_search(loosest, tell, ledger)
    found: list[Found] = []
    for run in tighter:
        policy = FrozenSearch(
            run.plan.feasible,
            search.net,
            search.validation,
            run.plan.search,
            steps=search.policy_steps,
        )
        course = Trace(policy)
        policy.run(course.watch)
        with kept_when_refused(ledger):
            found.append(found_by(policy, run, course, tell))
    with kept_when_refused(ledger):
        found.append(found_by(search, loosest, trace, tell))
    ledger.enter("search", [own.to_dict() for own in found])
    if loosest.plan.latency is not None:
        ledger.save()  # as in a run
    return found


def _telling(tell: Observer, prefix: str) -> Observer:
    return lambda progress: tell(replace(progress, note=prefix + progress.note))
