"""The whole way from a table to a model: split, encode, search, train alone, choose, judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from math import inf
from time import perf_counter
from typing import Any, Literal

import numpy as np

from tabnas.errors import TabnasError
from tabnas.model import (
    Boosted,
    Metric,
    Model,
    Scores,
    boosted_prediction,
    default_metric,
    metric_named,
    primary_loss,
    score,
    tempered,
    trivial_prediction,
)
from tabnas.nets import SuperNet
from tabnas.runs._candidates import (
    Candidate,
    Weights,
    final_trainer,
    finished,
    predicted,
    trial_of,
)
from tabnas.runs._labelled import Labelled
from tabnas.runs._ledger import Ledger
from tabnas.runs._limit_effect import LimitEffect, limit_effects
from tabnas.runs._parts import Part, Parts, prepare
from tabnas.runs._plan import Plan, make_plan
from tabnas.runs._progress import Observer, Progress, share_of, watching
from tabnas.runs._proposals import proposals
from tabnas.runs._settings import RunSettings
from tabnas.runs._trace import Snapshot, TracedSearch
from tabnas.search import Search, one_shot_losses
from tabnas.space import Architecture


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
    notes: tuple[str, ...]  # what could not be judged, and why
    trained_on_all: bool  # whether the model's final weights have seen every row
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

    def identity(self) -> dict[str, Any]:
        """What a run must have in common with another to go on with it."""
        settings = {name: str(value) for name, value in self.settings.to_dict().items()}
        return {
            "the version of tabnas": version("tabnas"),
            "the table": self.parts.digest(),
            **{f"the setting {name}": value for name, value in settings.items()},
            **{f"the planned {name}": value for name, value in self.plan.resolved.items()},
        }

    def execute(self, observe: Observer | None = None, ledger: Ledger | None = None) -> Outcome:
        """Search, train, choose and judge; with a ledger's folder, stoppable at any moment."""
        ledger = ledger or Ledger()
        with ledger.watching_signals():
            return _execute(self, observe or (lambda progress: None), ledger)


def plan_run(
    data: Labelled,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
    resolved: Mapping[str, int] | None = None,
) -> PlannedRun:
    """Split and encode the table and settle what is to be done; refuses what cannot be.

    `resolved` is `Plan.resolved` of an earlier process, for going on with its run.
    """
    began = perf_counter()
    task = data.target.task
    metric = metric_named(settings.metric, task) if settings.metric else default_metric(task)
    parts = prepare(data, settings, validation=validation, test=test)
    plan = make_plan(parts, settings, resolved)
    _refuse_undefined(metric, parts)
    return PlannedRun(settings, parts, plan, metric, perf_counter() - began)


def _refuse_undefined(metric: Metric, parts: Parts) -> None:
    """A metric that the rows to choose by do not define is better refused before the work."""
    part = parts.development if parts.folds else parts.validation
    guess = trivial_prediction(parts.target, part.truth, part.weight, len(part))
    primary_loss(metric, parts.target, part.truth, guess, part.weight)


def _execute(run: PlannedRun, tell: Observer, ledger: Ledger) -> Outcome:
    parts, plan = run.parts, run.plan
    seconds = {"preparation": run.seconds}
    with _timed(seconds, "search"):
        found = _searched(run, tell, ledger)
    with _timed(seconds, "candidates"):
        tried = _tried(run, found.architectures, tell, ledger)
    order = np.argsort([candidate.loss for candidate in tried], kind="stable")
    chosen = tried[order[0]]
    with _timed(seconds, "final training"):
        weights = chosen.weights
        if weights is None:
            weights = _trained_finally(
                "final training", chosen, parts.development, run, tell, ledger
            )
        weights = tempered(weights, chosen.temperature)
    scores: dict[str, Scores] = {}
    boosted: Boosted | None = None
    notes: list[str] = []
    with _timed(seconds, "comparison"):
        if parts.test is not None:
            scores, boosted, notes = _compared(run, weights, chosen, parts.test, tell)
    trained_on_all = bool(plan.folds) and parts.test is None
    if run.settings.refit and not trained_on_all:
        with _timed(seconds, "refit"):
            weights = _trained_finally("refit", chosen, parts.everything, run, tell, ledger)
            weights = tempered(weights, chosen.temperature)
    return Outcome(
        model=finished(weights, chosen.architecture, parts, plan),
        settings=run.settings,
        parts=parts,
        plan=plan,
        metric=run.metric,
        candidates=tuple(tried[k] for k in order),
        one_shot=tuple(found.one_shot[k] for k in order),
        effects=found.effects,
        scores=scores,
        boosted=boosted,
        notes=tuple(notes),
        trained_on_all=trained_on_all or run.settings.refit,
        snapshots=found.snapshots,
        seconds=seconds,
    )


@dataclass(frozen=True)
class _Found:
    """What the search gave."""

    architectures: tuple[Architecture, ...]
    one_shot: tuple[float, ...]
    effects: tuple[LimitEffect, ...]
    snapshots: tuple[Snapshot, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "architectures": [str(one) for one in self.architectures],
            "one_shot": list(self.one_shot),
            "effects": [asdict(e) | {"architecture": str(e.architecture)} for e in self.effects],
            "snapshots": [snapshot.to_dict() for snapshot in self.snapshots],
        }

    @classmethod
    def of(cls, facts: dict[str, Any]) -> _Found:
        parse = Architecture.parse
        return cls(
            tuple(map(parse, facts["architectures"])),
            tuple(facts["one_shot"]),
            tuple(
                LimitEffect(**(e | {"architecture": parse(e["architecture"])}))
                for e in facts["effects"]
            ),
            tuple(Snapshot(**snapshot) for snapshot in facts["snapshots"]),
        )


def _searched(run: PlannedRun, tell: Observer, ledger: Ledger) -> _Found:
    """Algorithm 1, and the candidates that come of it."""
    if "search" in ledger:
        return _Found.of(ledger.facts("search"))
    parts, plan = run.parts, run.plan
    search = Search(
        plan.feasible,
        parts.train.examples,
        parts.validation.examples,
        plan.search,
        engine=plan.engine,
    )
    traced = TracedSearch(search)
    ledger.begin("search", traced)
    search.run(watching(search, traced.trace, tell, ledger.tick))
    architectures = proposals(search, plan)
    found = _Found(
        tuple(architectures),
        tuple(one_shot_losses(search, architectures).tolist()),
        tuple(limit_effects(search)),
        tuple(traced.trace.snapshots),
    )
    ledger.enter("search", found.to_dict())
    return found


def _tried(
    run: PlannedRun, architectures: Sequence[Architecture], tell: Observer, ledger: Ledger
) -> list[Candidate]:
    """Every candidate, trained alone; only the best so far keeps its weights."""
    tried: list[Candidate] = []
    best = inf
    for k, architecture in enumerate(architectures):
        name = f"candidate {k + 1}"
        if name in ledger:
            weights = ledger.arrays(name) or None
            tried.append(
                Candidate(architecture=architecture, weights=weights, **ledger.facts(name))
            )
            best = min(best, tried[-1].loss)
            continue
        trial = trial_of(architecture, run.parts, run.plan, run.metric)
        ledger.begin(name, trial)
        share = share_of("candidates", k, len(architectures), str(architecture), tell)
        candidate = trial.run(share, ledger.tick)
        if not candidate.loss < best:
            candidate = replace(candidate, weights=None)
        elif candidate.weights is not None:
            for earlier in range(k):
                ledger.forget_arrays(f"candidate {earlier + 1}")
                tried[earlier] = replace(tried[earlier], weights=None)
        best = min(best, candidate.loss)
        tried.append(candidate)
        facts = {n: getattr(candidate, n) for n in ("loss", "stop_after", "temperature", "seconds")}
        ledger.enter(name, facts, candidate.weights)
    return tried


def _trained_finally(
    name: Literal["final training", "refit"],
    chosen: Candidate,
    part: Part,
    run: PlannedRun,
    tell: Observer,
    ledger: Ledger,
) -> Weights:
    """The weights of the chosen architecture, trained on more rows."""
    if name not in ledger:
        trainer = final_trainer(chosen, part.examples, run.plan)
        ledger.begin(name, trainer)
        share = share_of(name, 0, 1, str(chosen.architecture), tell)
        trainer.run(lambda result: share(result.epochs / chosen.stop_after), ledger.tick)
        ledger.enter(name, {}, trainer.net.weights())
    return ledger.arrays(name)


def _compared(
    run: PlannedRun, weights: Weights, chosen: Candidate, test: Part, tell: Observer
) -> tuple[dict[str, Scores], Boosted | None, list[str]]:
    """Scores on the test part: of the network, of knowing nothing, and of boosted trees.

    A part that cannot be judged is a note, not an end: the model is there, and is kept.
    """
    parts, target, seed = run.parts, run.parts.target, run.settings.seed
    net = SuperNet.standalone(chosen.architecture, parts.task, engine=run.plan.engine)
    net.load_weights(weights)

    known = parts.development if run.plan.folds else parts.train
    scores: dict[str, Scores] = {}
    notes: list[str] = []

    def judge(name: str, predict: Callable[[], Any]) -> None:
        try:
            scores[name] = score(target, test.truth, predict(), test.weight, seed=seed)
        except (TabnasError, MemoryError) as error:
            notes.append(f"the {name} could not be judged on the test rows: {error}")

    tell(Progress("comparison", 0.0, note="trivial predictor"))
    judge("network", lambda: predicted(net, chosen.architecture, parts, test))
    judge("trivial", lambda: trivial_prediction(target, known.truth, known.weight, len(test)))
    boosted: Boosted | None = None
    if run.settings.baselines:
        tell(Progress("comparison", 0.5, note="boosted trees"))
        try:
            boosted = boosted_prediction(
                target,
                parts.encoder.categories,
                known.rows,
                [test.encoded],
                validation=None if run.plan.folds else parts.validation.rows,
                seed=seed,
            )
        except (ValueError, MemoryError) as error:
            notes.append(f"the boosted trees could not be fitted: {error}")
        else:
            predictions = boosted.predictions[0]
            judge("boosted trees", lambda: predictions)
    tell(Progress("comparison", 1.0))
    return scores, boosted, notes


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    began = perf_counter()
    yield
    seconds[phase] = perf_counter() - began
