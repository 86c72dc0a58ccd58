"""How much work a run does, and with what settings: a rule from rows, space and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from math import ceil
from time import perf_counter
from typing import Any

from tabnas.errors import InfeasibleError, TabNASError, check_int
from tabnas.feasible import FeasibleSet
from tabnas.latency import Measure, measure_models
from tabnas.nets import Adam, Cosine, SuperNet, TrainingSettings
from tabnas.policy import Adam as PolicyAdam
from tabnas.runs._recipe import Recipe
from tabnas.runs._settings import RunSettings
from tabnas.runs.plan._latency import LatencyPlan, plan_latency
from tabnas.runs.plan._memory import refuse_beyond_memory
from tabnas.runs.prepare._prepared_data import SMALL_TABLE, Parts
from tabnas.search import SearchSettings
from tabnas.space import ABSENT, COSTS, Budget, Cost, SearchSpace, default_space, relax
from tabnas.streams import stream

# Chosen on thirteen tables (results/training.md).
LEARNING_RATE = 0.01
OPTIMIZER = Adam(weight_decay=0.1)
EPOCHS = 40
FEWEST_STEPS = 2_000  # of a training: small tables take more epochs
MOST_EPOCHS = 500
MOST_ROWS = 40_000_000  # shown to a network in one training: large tables take fewer epochs
FEWEST_EPOCHS = 1

# Chosen by the quality of what is found, and its cost (results/weight_sampling.md).
SEARCH_SHARE = 0.6  # epochs of the search for one of a stand-alone training
LOOKS, EVERY = 8, 16
RL_RATE = 0.1
CANDIDATES = 3
SIMPLER_TRIED = 3  # networks at most, on small tables: see _proposals

MOST_STRETCH = 4.0
"""More time goes into longer trainings, up to this factor and at most 500 epochs, then into more
candidates."""
LEAST_STRETCH = 0.25
"""Less time makes trainings shorter, down to this factor; then networks are made smaller."""
NARROWINGS = 1 / 16, 1 / 2
"""By how much the room for networks is narrowed at once: at most, and at least."""
NARROW_OCTAVES = 1
"""How far widths of a narrowed space go beyond equal ones: all of it is to be trained in time."""
WORTHWHILE = 0.8
"""Networks of half the size must be trained in so much of the time, or they do not save it."""
MOST_CANDIDATES = 24
ROWS_A_CANDIDATE = 100
"""Rows to choose by that there must be for each candidate that time adds: among many, judged on few
rows, the luckiest is chosen and not the best (results/small_tables.md)."""
SMALLEST_SPACE = 10  # architectures
PACE_SECONDS = 0.15

# How much longer a phase takes than its bare training steps do; measured on five tables.
LOOK_AROUND = 2.5  # search: children above the limit, and looks at the validation rows
LOOK_BACK = 1.25  # training: the validation loss after each epoch

# Of scikit-learn's boosted trees on one core: for each tree, for each of its rows and columns.
TREES = 100  # for each output
TREE_SECONDS, TREE_CELL_SECONDS = 4e-3, 6e-9
TREE_ROWS = 250_000  # the most they are shown


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Recipe):
    """All that a run will do, in numbers; how long that takes is measured when asked for."""

    feasible: FeasibleSet
    search: SearchSettings
    candidates: int
    simpler: bool  # whether simpler networks than the search's are tried, too
    refit: bool  # whether the chosen one is trained once more
    pace: Callable[[], float]  # measures `seconds_a_step`, once
    rows: int  # of the training part
    choosing_rows: int  # that candidates are chosen by
    comparison_seconds: float  # that boosted trees may take, about
    latency: LatencyPlan | None = None  # if there are limits on latency
    room: float = 1.0  # share of the limits that the space was made for; less if time is short
    notes: tuple[str, ...] = ()  # what people should know

    @property
    def recipe(self) -> Recipe:
        """Without all else, to be sent to other processes."""
        return Recipe(**{each.name: getattr(self, each.name) for each in fields(Recipe)})

    @property
    def seconds_a_step(self) -> float:
        """Of the largest network within the limit, as measured here when first asked for."""
        return self.pace()

    @property
    def largest_parameters(self) -> int:
        """Of the dearest network of the space within the limits."""
        return int(COSTS["parameters"](self.feasible.space, self.feasible.most_expensive()))

    @property
    def training_seconds(self) -> float:
        """About how long one stand-alone training takes."""
        return LOOK_BACK * self._steps(self.training.epochs) * self.seconds_a_step

    @property
    def seconds(self) -> dict[str, float]:
        """About how long each phase takes, reading and compilation left out."""
        tried = self.candidates + SIMPLER_TRIED * self.simpler
        trainings = tried * max(1, self.folds) + bool(self.folds) + self.refit
        return {
            "search": LOOK_AROUND * self._steps(self.search.epochs) * self.seconds_a_step,
            "candidates": trainings * self.training_seconds,
            "comparison": self.comparison_seconds,
        }

    def _steps(self, epochs: int) -> int:
        return epochs * ceil(self.rows / self.training.batch_size)

    @property
    def resolved(self) -> dict[str, Any]:
        """What depends on the time that was wished for, and on how fast this machine is."""
        numbers: dict[str, Any] = {
            "search_epochs": self.search.epochs,
            "epochs": self.training.epochs,
            "candidates": self.candidates,
        }
        if self.room < 1:
            numbers["room"] = self.room
        return numbers if self.latency is None else numbers | {"latency": self.latency.resolved}

    @property
    def costs(self) -> dict[str, Cost]:
        """Every cost of an architecture that is known before it is trained."""
        return COSTS | dict(self.latency.costs if self.latency else {})

    def resolved_to(self, numbers: Mapping[str, Any]) -> Plan:
        """The plan with the numbers of another process."""
        try:
            epochs, search_epochs, candidates = (
                check_int(f"the planned {name}", numbers[name], minimum=1)
                for name in ("epochs", "search_epochs", "candidates")
            )
        except (KeyError, TypeError):
            raise TabNASError("the plan of the run is malformed; begin a new run") from None
        most = max(MOST_CANDIDATES, self.candidates)
        if max(epochs, search_epochs) > MOST_EPOCHS or candidates > most:
            raise TabNASError(
                "the plan of the run must be one that follows from its settings, at most "
                f"{MOST_EPOCHS:,} epochs, got more work; begin a new run"
            )
        return replace(
            self,
            search=replace(self.search, epochs=search_epochs),
            training=replace(self.training, epochs=epochs),
            candidates=candidates,
        )

    def stretch_to(self, seconds: float) -> float:
        """How much longer than planned trainings can be to take about that time in all.

        The comparison takes what it takes, but does not shrink the rest to less than half the time.
        """
        left = max(seconds - self.comparison_seconds, seconds / 2)
        return left / (sum(self.seconds.values()) - self.comparison_seconds)

    @property
    def least_stretch(self) -> float:
        """How much shorter than planned a training can be and still teach something."""
        return max(LEAST_STRETCH, 1 / self.training.epochs)

    def within(self, seconds: float, *, keep_candidates: bool = False) -> Plan:
        """The plan stretched or shrunk to about that time; how many candidates may be settled."""
        factor = self.stretch_to(seconds)
        stretch = min(factor, MOST_STRETCH, MOST_EPOCHS / self.training.epochs)
        more = max(1.0, factor / stretch)
        return replace(
            self,
            search=replace(self.search, epochs=_scaled(self.search.epochs, stretch)),
            training=replace(self.training, epochs=_scaled(self.training.epochs, stretch)),
            candidates=self.candidates
            if keep_candidates
            else min(round(self.candidates * more), self._most_candidates),
        )

    @property
    def _most_candidates(self) -> int:
        return max(self.candidates, min(MOST_CANDIDATES, self.choosing_rows // ROWS_A_CANDIDATE))


def make_plan(
    parts: Parts,
    settings: RunSettings,
    resolved: Mapping[str, Any] | None = None,
    *,
    measure: Measure = measure_models,
    tell: Callable[[float], None] = lambda done: None,
) -> Plan:
    """What to do with these parts; `resolved` is what an earlier process made of the time.

    `measure` is what finds the latency of models, `tell` is told how far that is.
    """
    latency = plan_latency(parts, settings, resolved, measure=measure, tell=tell)
    room = _room(resolved)
    try:
        plan = _plan(parts, settings, latency, room)
    except InfeasibleError:
        if latency is None or resolved is not None:
            raise
        latency = latency.measured_again(parts)  # a bad moment must not refuse a limit
        plan = _plan(parts, settings, latency, room)
    usual_epochs = plan.training.epochs
    if resolved is not None:
        plan = plan.resolved_to(resolved)
    elif settings.time is not None:
        plan = _narrowed(plan, parts, settings)
        plan = plan.within(settings.time, keep_candidates=settings.candidates is not None)
    return replace(plan, notes=_time_notes(plan, settings, usual_epochs))


def _room(resolved: Mapping[str, Any] | None) -> float:
    """The share of the limits that an earlier process has made the space for."""
    room = resolved.get("room", 1.0) if isinstance(resolved, Mapping) else 1.0
    if isinstance(room, bool) or not isinstance(room, int | float) or not 0 < room <= 1:
        raise TabNASError("the planned room must be a share of the limits; begin a new run")
    return float(room)


def _narrowed(plan: Plan, parts: Parts, settings: RunSettings) -> Plan:
    """A plan whose largest networks can be trained in the time; widths of a user's own stay."""
    assert settings.time is not None
    while settings.widths is None and plan.stretch_to(settings.time) < plan.least_stretch:
        most, least = NARROWINGS
        share = plan.stretch_to(settings.time) / plan.least_stretch
        narrower = _plan(parts, settings, plan.latency, plan.room * min(least, max(most, share)))
        halved = narrower.largest_parameters <= plan.largest_parameters / 2
        if halved and narrower.seconds_a_step > WORTHWHILE * plan.seconds_a_step:
            break  # what takes the time is not the network
        if narrower.feasible.space.size <= SMALLEST_SPACE:
            break
        plan = narrower
    return plan


def _time_notes(plan: Plan, settings: RunSettings, usual_epochs: int) -> tuple[str, ...]:
    """What the time has cost."""
    if settings.time is None:
        return ()
    notes = []
    if plan.room < 1:
        notes.append(
            f"{settings.time:g} s are too short to train the largest networks within the limits: "
            f"none of more than {plan.largest_parameters:,} parameters was tried; "
            "give more time to try larger ones"
        )
    if plan.training.epochs < LEAST_STRETCH * usual_epochs:
        notes.append(
            f"{settings.time:g} s are too short for these rows and networks: "
            f"{plan.training.epochs} of the usual {usual_epochs} epochs were trained; give more "
            "time, or narrower widths"
        )
    return tuple(notes)


def _plan(parts: Parts, settings: RunSettings, latency: LatencyPlan | None, room: float) -> Plan:
    """The usual work in a space that is made for a share of the limits."""
    feasible = _feasible(parts, settings, latency, room)
    rows = len(parts.train)
    batch_size = default_batch_size(rows)
    epochs = default_epochs(rows, batch_size)
    schedule = Cosine(LEARNING_RATE)
    small = len(parts.development) <= SMALL_TABLE
    return Plan(
        feasible=feasible,
        search=SearchSettings(
            epochs=ceil(SEARCH_SHARE * epochs),
            batch_size=max(1, batch_size // settings.workers),
            optimizer=OPTIMIZER,
            schedule=schedule,
            seed=settings.seed,
            workers=settings.workers,
            evaluations_per_step=LOOKS,
            policy_every=EVERY,
            baseline="others",
            policy_optimizer=PolicyAdam(learning_rate=RL_RATE),
            reward="rejection" if feasible.is_exact else "rejection_monte_carlo",
        ),
        training=TrainingSettings(
            epochs=epochs, batch_size=batch_size, schedule=schedule, seed=settings.seed
        ),
        optimizer=OPTIMIZER,
        candidates=settings.candidates or CANDIDATES,
        folds=parts.folds,
        simpler=small and settings.candidates is None,
        refit=settings.refit,
        engine=settings.engine,
        pace=cache(lambda: _pace(parts, feasible, batch_size, settings)),
        rows=rows,
        choosing_rows=len(parts.development if parts.folds else parts.validation),
        comparison_seconds=_comparison_seconds(parts, settings),
        latency=latency,
        room=room,
    )


def make_space(
    parts: Parts, settings: RunSettings, budget: Budget, room: float = 1.0
) -> SearchSpace:
    """The user's widths, or those that follow from inputs, outputs and a share of the limits."""
    inputs = parts.task.inputs
    ends = {
        "inputs": inputs.width,
        "outputs": parts.task.outputs,
        "embedding_parameters": inputs.embedding_parameters,
    }
    layers = {} if settings.layers is None else {"layers": settings.layers}
    if settings.widths is None:
        share = relax(budget, SearchSpace([[ABSENT]], **ends), room)
        octaves = {} if room == 1 else {"octaves_above": NARROW_OCTAVES}
        return default_space(share, **ends, **layers, **octaves)
    return SearchSpace.uniform(widths=settings.widths, **ends, **({"layers": 3} | layers))


def _feasible(
    parts: Parts, settings: RunSettings, latency: LatencyPlan | None, room: float
) -> FeasibleSet:
    budget = settings.budget_with(latency.costs if latency else {})
    space = make_space(parts, settings, budget, room)
    refuse_beyond_memory(space, parts.task, OPTIMIZER)
    try:
        return FeasibleSet(space, budget)
    except InfeasibleError as error:
        others = "" if settings.widths is None else "allow narrower widths or fewer layers, "
        spent = [
            f", {cost.fixed(space):.1f} of it for the call and its columns"
            for name, cost in (latency.costs if latency else {}).items()
            if str(error).startswith(f"no architecture meets {name} ")
        ]
        raise InfeasibleError(
            f"{error}{''.join(spent)}; raise the limit, {others}or leave out columns"
        ) from None


def default_batch_size(rows: int) -> int:
    """The largest power of two, from 32 to 512, that makes 150 steps of an epoch or more."""
    size = 32
    while size < 512 and rows / (2 * size) >= 150:
        size *= 2
    return size


def default_epochs(rows: int, batch_size: int) -> int:
    """40; more where that would be few steps, fewer where it would be very many rows."""
    enough = ceil(FEWEST_STEPS / ceil(rows / batch_size))
    too_many = MOST_ROWS // rows
    return max(FEWEST_EPOCHS, min(max(EPOCHS, enough), too_many, MOST_EPOCHS))


def _comparison_seconds(parts: Parts, settings: RunSettings) -> float:
    if parts.test is None or not settings.baselines:
        return 0.0
    columns = len(parts.encoder.features) + len(parts.encoder.categories)
    cells = min(len(parts.train), TREE_ROWS) * columns
    return TREES * parts.task.outputs * (TREE_SECONDS + TREE_CELL_SECONDS * cells)


def _scaled(epochs: int, factor: float) -> int:
    return max(1, round(epochs * factor))


def _pace(parts: Parts, feasible: FeasibleSet, batch_size: int, settings: RunSettings) -> float:
    """Seconds that a training step of the largest network within the limit takes, here and now."""
    largest = feasible.most_expensive()
    task = parts.task
    net = SuperNet.standalone(largest, task, optimizer=OPTIMIZER, engine=settings.engine)
    known = parts.known.examples
    rows = stream(0, "pace").integers(len(known), size=min(batch_size, len(known)))
    net.train_step(largest, known, rows, 0.0)  # compiles, if it must
    began, steps = perf_counter(), 0
    while perf_counter() - began < PACE_SECONDS:
        net.train_step(largest, known, rows, 0.0)
        steps += 1
    return (perf_counter() - began) / steps
