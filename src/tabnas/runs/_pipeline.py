"""The whole way from a table to a model: split, encode, search, train alone, choose, judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np

from tabnas.model import (
    Boosted,
    Metric,
    Model,
    Scores,
    boosted_prediction,
    default_metric,
    metric_named,
    score,
    trivial_prediction,
)
from tabnas.nets import SuperNet
from tabnas.runs._candidates import (
    Candidate,
    finished,
    predicted,
    train_finally,
    try_candidate,
)
from tabnas.runs._labelled import Labelled
from tabnas.runs._limit_effect import LimitEffect, limit_effects
from tabnas.runs._parts import Part, Parts, prepare
from tabnas.runs._plan import Plan, make_plan
from tabnas.runs._proposals import proposals
from tabnas.runs._settings import RunSettings
from tabnas.runs._trace import Snapshot, Trace, describe
from tabnas.search import Round, Search, one_shot_losses

Phase = Literal["search", "candidates", "final training", "comparison"]
TOLD_EVERY = 0.1  # seconds: often enough for people


@dataclass(frozen=True)
class Progress:
    """What an observer is told while a run goes on."""

    phase: Phase
    done: float  # of the phase, from 0 to 1
    snapshot: Snapshot | None = None  # of the search
    epoch: float | None = None
    rows_a_second: float | None = None
    note: str = ""


Observer = Callable[[Progress], None]


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
    snapshots: tuple[Snapshot, ...]
    seconds: dict[str, float]  # by phase

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

    def execute(self, observe: Observer | None = None) -> Outcome:
        """Search, train, choose and judge."""
        return _execute(self, observe or (lambda progress: None))


def plan_run(
    data: Labelled,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
) -> PlannedRun:
    """Split and encode the table and settle what is to be done; refuses what cannot be."""
    began = perf_counter()
    task = data.target.task
    metric = metric_named(settings.metric, task) if settings.metric else default_metric(task)
    parts = prepare(data, settings, validation=validation, test=test)
    plan = make_plan(parts, settings)
    return PlannedRun(settings, parts, plan, metric, perf_counter() - began)


def _execute(run: PlannedRun, tell: Observer) -> Outcome:
    parts, plan = run.parts, run.plan
    seconds = {"preparation": run.seconds}
    with _timed(seconds, "search"):
        search = Search(
            plan.feasible, parts.train.examples, parts.validation.examples, plan.search,
            engine=plan.engine,
        )  # fmt: skip
        trace = Trace(search)
        search.run(_watching(search, trace, tell))
        architectures = proposals(search, plan)
    one_shot = one_shot_losses(search, architectures)
    with _timed(seconds, "candidates"):
        tried = []
        for k, architecture in enumerate(architectures):
            tell_share = _share_of("candidates", k, len(architectures), str(architecture), tell)
            tried.append(try_candidate(architecture, parts, plan, run.metric, tell_share))
        order = np.argsort([candidate.loss for candidate in tried], kind="stable")
        chosen = tried[order[0]]
    with _timed(seconds, "final training"):
        net = chosen.net or _finally(chosen, parts.development, plan, tell)
    scores: dict[str, Scores] = {}
    boosted: Boosted | None = None
    with _timed(seconds, "comparison"):
        if parts.test is not None:
            scores, boosted = _compared(run, net, chosen, parts.test, tell)
    trained_on_all = bool(plan.folds) and parts.test is None
    if run.settings.refit and not trained_on_all:
        with _timed(seconds, "refit"):
            net = _finally(chosen, parts.everything, plan, tell)
    return Outcome(
        model=finished(net, chosen.architecture, parts, plan),
        settings=run.settings,
        parts=parts,
        plan=plan,
        metric=run.metric,
        candidates=tuple(tried[k] for k in order),
        one_shot=tuple(float(one_shot[k]) for k in order),
        effects=tuple(limit_effects(search)),
        scores=scores,
        boosted=boosted,
        snapshots=tuple(trace.snapshots),
        seconds=seconds,
    )


def _finally(chosen: Candidate, part: Part, plan: Plan, tell: Observer) -> SuperNet:
    name = str(chosen.architecture)
    return train_finally(chosen, part.examples, plan, _share_of("final training", 0, 1, name, tell))


def _compared(
    run: PlannedRun, net: SuperNet, chosen: Candidate, test: Part, tell: Observer
) -> tuple[dict[str, Scores], Boosted | None]:
    """Scores on the test part: of the network, of knowing nothing, and of boosted trees."""
    parts, target, seed = run.parts, run.parts.target, run.settings.seed

    def judged(prediction: Any) -> Scores:
        return score(target, test.truth, prediction, test.weight, seed=seed)

    tell(Progress("comparison", 0.0, note="trivial predictor"))
    known = parts.development if run.plan.folds else parts.train
    scores = {
        "network": judged(predicted(net, chosen.architecture, parts, test)),
        "trivial": judged(trivial_prediction(target, known.truth, known.weight, len(test))),
    }
    if not run.settings.baselines:
        return scores, None
    tell(Progress("comparison", 0.5, note="boosted trees"))
    boosted = boosted_prediction(
        target,
        parts.encoder.categories,
        known.rows,
        [test.encoded],
        validation=None if run.plan.folds else parts.validation.rows,
        seed=seed,
    )
    scores["boosted trees"] = judged(boosted.predictions[0])
    tell(Progress("comparison", 1.0))
    return scores, boosted


def _watching(search: Search, trace: Trace, tell: Observer) -> Callable[[Round], None]:
    """Takes the snapshots of a search, and tells people a few times a second."""
    began = told = perf_counter()
    rows_of_a_step = search.settings.batch_size * search.settings.workers

    def watch(now: Round) -> None:
        nonlocal told
        taken = trace.snapshot(now) if trace.due() else None
        moment = perf_counter()
        if moment - told < TOLD_EVERY and search.progress < 1:
            return
        told = moment
        tell(
            Progress(
                "search",
                search.progress,
                taken or describe(search, now),
                epoch=search.progress * search.settings.epochs,
                rows_a_second=search.step * rows_of_a_step / (moment - began),
            )
        )

    return watch


def _share_of(
    phase: Phase, index: int, total: int, note: str, tell: Observer
) -> Callable[[float], None]:
    return lambda done: tell(Progress(phase, (index + done) / total, note=note))


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    began = perf_counter()
    yield
    seconds[phase] = perf_counter() - began
