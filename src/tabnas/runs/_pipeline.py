"""The whole way from a table to a model: split, encode, search, train alone, choose, judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from time import perf_counter
from typing import Any

from tabnas.latency import Measure, measure_models
from tabnas.model import (
    Boosted,
    Metric,
    Model,
    Scores,
    default_metric,
    metric_named,
    primary_loss,
    trivial_prediction,
)
from tabnas.nets import load_engine
from tabnas.runs._extremes import most_extreme
from tabnas.runs._final_training import make_model
from tabnas.runs._phases import timed
from tabnas.runs._progress import Observer, Progress
from tabnas.runs._ranks import ALONE, Ranks
from tabnas.runs._settings import RunSettings
from tabnas.runs.candidates._train_candidates import ranked, tried_alone
from tabnas.runs.candidates._training import Candidate
from tabnas.runs.checkpoints._run_checkpoint import Entries, Ledger
from tabnas.runs.evaluation._scores import References, compared, diagnosed, references
from tabnas.runs.plan._plan import Plan, make_plan
from tabnas.runs.plan._shared_plan import shared_plan
from tabnas.runs.prepare._labelled_table import Labelled
from tabnas.runs.prepare._prepare import prepare
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.runs.search._limit_effect import LimitEffect
from tabnas.runs.search._search_step import Found, searched
from tabnas.runs.search._trace import Snapshot
from tabnas.stores import Store


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run found, and how."""

    model: Model
    settings: RunSettings
    parts: Parts
    plan: Plan
    metric: Metric
    candidates: tuple[Candidate, ...]  # best first
    one_shot: tuple[float, ...]  # the loss of each candidate with the SuperNet's weights
    effects: tuple[LimitEffect, ...]
    scores: dict[str, Scores]  # on the test part: of the model, and what it is compared with
    boosted: Boosted | None
    diagnostics: dict[str, Any] | None  # mistakes, probabilities, importance of columns
    notes: tuple[str, ...]  # what could not be judged, and why
    trained_on_all: bool  # whether the model's final weights have seen every row
    snapshots: tuple[Snapshot, ...]
    seconds: dict[str, float]  # by phase
    measured_us: Mapping[str, float]  # latencies of the model's own file, by the name of the cost

    @property
    def chosen(self) -> Candidate:
        """The candidate that became the model."""
        return self.candidates[0]


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """A run of which everything is settled but the training."""

    settings: RunSettings
    parts: Parts
    plan: Plan
    metric: Metric
    seconds: float  # that it took to get here
    ranks: Ranks = ALONE  # the processes that make it together

    def identity(self) -> dict[str, Any]:
        """What a run must have in common with another to go on with it."""
        return {
            "the version of tabnas": version("tabnas"),
            "the table": self.parts.digest(),
            **self.settings.identity(),
            **{f"the planned {name}": _plain(value) for name, value in self.plan.resolved.items()},
        }

    def execute(self, observe: Observer | None = None, ledger: Ledger | None = None) -> Outcome:
        """Search, train, choose and judge; with a ledger's folder, stoppable at any moment."""
        ledger = ledger or Ledger(ranks=self.ranks)
        with ledger.watching_signals():
            return _execute(self, observe or (lambda progress: None), ledger)

    def assist(self, ledger: Ledger) -> None:
        """What the others of several processes do while the first executes: all up to the model."""
        with ledger.watching_signals():
            found = searched(self, _nobody, ledger)
            tried = tried_alone(self, found.architectures, _nobody, ledger)
            order, _ = ranked(self, tried)
            make_model(self, [tried[k] for k in order], _nobody, ledger, {})


def plan_run(
    data: Labelled | Store,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
    resolved: Mapping[str, Any] | None = None,
    measure: Measure = measure_models,
    observe: Observer = lambda progress: None,
    ranks: Ranks = ALONE,
) -> PlannedRun:
    """Split and encode a table and settle what is to be done; refuses what cannot be.

    A store is split and encoded already: its rows stay where they are.

    `resolved` is `Plan.resolved` of an earlier process, for going on with its run: then nothing is
    measured again. `measure` finds the latency of models. Of several processes, `ranks`, each reads
    and encodes its own copy of the table, and the first settles the rest for all.
    """
    began = perf_counter()
    parts = prepare(data, settings, validation=validation, test=test, ranks=ranks)
    metric = metric_of(settings, parts)

    def planned(resolved: Mapping[str, Any] | None) -> Plan:
        return make_plan(
            parts,
            settings,
            resolved,
            measure=measure,
            tell=lambda done: observe(Progress("measuring", done, note="this machine, once")),
        )

    plan = planned(resolved) if ranks.size == 1 else shared_plan(planned, resolved, ranks)
    run = PlannedRun(settings, parts, plan, metric, perf_counter() - began, ranks)
    if ranks.size > 1:
        ranks.refuse_differences(run.identity())
    return run


def _nobody(told: Progress) -> None:
    """Nobody is told."""


def _plain(value: Any) -> str | int:
    return value if isinstance(value, int) else json.dumps(value, sort_keys=True)


def metric_of(settings: RunSettings, parts: Parts) -> Metric:
    """What to choose by; one that the rows do not define is better refused before the work."""
    task = parts.target.task
    metric = metric_named(settings.metric, task) if settings.metric else default_metric(task)
    part = parts.development if parts.folds else parts.validation
    guess = trivial_prediction(parts.target, part.truth, part.weight, len(part))
    primary_loss(metric, parts.target, part.truth, guess, part.weight)
    return metric


def _execute(run: PlannedRun, tell: Observer, ledger: Ledger) -> Outcome:
    seconds = {"preparation": run.seconds}
    with timed(seconds, "preparation"):
        load_engine(run.plan.engine)
    with timed(seconds, "search"):
        found = searched(run, tell, ledger)
    return conclude(run, found, tell, ledger, seconds)


def conclude(
    run: PlannedRun,
    found: Found,
    tell: Observer,
    ledger: Entries,
    seconds: dict[str, float],
    *,
    earlier: Sequence[tuple[Candidate, float]] = (),
    beside: References | None = None,
) -> Outcome:
    """Train what was found, choose and judge.

    `earlier` are candidates that were trained before, with their one-shot losses, and `beside` is
    what the network is compared with, where that is known already.
    """
    parts = run.parts
    with timed(seconds, "candidates"):
        tried = tried_alone(run, found.architectures, tell, ledger)
    tried += [candidate for candidate, _ in earlier]
    one_shot = [*found.one_shot, *(loss for _, loss in earlier)]
    order, notes = ranked(run, tried)
    made = make_model(run, [tried[k] for k in order], tell, ledger, seconds)
    order.insert(0, order.pop(made.place))
    chosen, weights = tried[order[0]], made.judged
    notes += [*parts.notes, *run.plan.notes, *found.notes, *made.notes]
    if found.skipped:
        notes.append(
            f"weight steps that the search skipped: {found.skipped:,}, since their loss or "
            f"gradient left the range of float32; {most_extreme(parts)}"
        )
    if run.settings.class_weight is not None:
        notes.append(
            "classes weighed alike in training, so probabilities are those of equally frequent "
            "classes, not of the rows as they come"
        )
    with ledger.idle():
        with timed(seconds, "comparison"):
            beside = beside or references(run, tell)
            scores, unjudged = compared(run, weights, chosen, beside)
        with timed(seconds, "diagnosis"):
            diagnostics, doubts = diagnosed(run, weights, chosen)
    return Outcome(
        model=made.model,
        settings=run.settings,
        parts=parts,
        plan=run.plan,
        metric=run.metric,
        candidates=tuple(tried[k] for k in order),
        one_shot=tuple(one_shot[k] for k in order),
        effects=found.effects,
        scores=scores,
        boosted=beside.boosted,
        diagnostics=diagnostics,
        notes=(*notes, *unjudged, *doubts),
        trained_on_all=made.trained_on_all,
        snapshots=found.snapshots,
        seconds=seconds,
        measured_us=made.measured_us,
    )
