"""The plan of a run: its search space, how long it trains, and how many candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from math import ceil
from time import perf_counter
from typing import Annotated, Any

from tabnas.decoding import Bounds, DecodeError, decode
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.latency import Measure, measure_models
from tabnas.model import MAX_TREE_ROWS
from tabnas.nets import Adam, Cosine, Optimizer, SuperNet, TrainingSettings
from tabnas.policy import Adam as PolicyAdam
from tabnas.runs.plan._latency import LatencyPlan, ResolvedLatency, plan_latency
from tabnas.runs.plan._memory import check_memory
from tabnas.runs.prepare._prepared_data import MAX_CROSS_VALIDATED_ROWS, PreparedData
from tabnas.search import SearchSettings
from tabnas.settings import RunSettings
from tabnas.space import ABSENT, COSTS, Budget, Cost, SearchSpace, default_space, relax
from tabnas.streams import stream

# Chosen on thirteen tables (results/training.md).
LEARNING_RATE = 0.01
OPTIMIZER = Adam(weight_decay=0.1)
EPOCHS = 40
MIN_STEPS = 2_000
"""Small tables train for more epochs, so that a training has this many steps."""
MAX_EPOCHS = 500
MAX_ROWS_SHOWN = 40_000_000
"""Large tables train for fewer epochs, so that a training reads at most this many rows."""
MIN_EPOCHS = 1

# Chosen by the quality of the candidates, and the cost (results/weight_sampling.md).
SEARCH_SHARE = 0.6
"""Epochs of the search for each epoch of a stand-alone training."""
EVALUATIONS_PER_STEP, POLICY_EVERY = 8, 16
POLICY_LEARNING_RATE = 0.1
CANDIDATES = 3
SIMPLER_CANDIDATES = 3
"""Simpler networks that small tables train, at most: see `search/_selection.py`."""

MAX_STRETCH = 4.0
"""More time makes trainings longer, up to this factor and 500 epochs; then there are more
candidates."""
MIN_STRETCH = 0.25
"""Less time makes trainings shorter, down to this factor; then networks become smaller."""
MIN_NARROWING, MAX_NARROWING = 1 / 16, 1 / 2
"""The share of the limits that is left after one step of making networks smaller."""
NARROW_OCTAVES = 1
"""How far the widths of a narrowed space go beyond equal ones, so that all of it is trained."""
MAX_TIME_RATIO = 0.8
"""Networks of half the size must take at most this share of the time to be worth it."""
MAX_CANDIDATES = 24
ROWS_PER_CANDIDATE = 100
"""Rows to choose by for each candidate that more time adds: of many candidates, scored on few rows,
the luckiest is chosen and not the best (results/small_tables.md)."""
MIN_SPACE = 10
"""Architectures of the smallest space that a short time leads to."""
TIMING_SECONDS = 0.15

# How much longer a phase takes than only its training steps; measured on five tables.
SEARCH_OVERHEAD = 2.5  # children above the limit, and evaluations on validation rows
VALIDATION_OVERHEAD = 1.25  # the validation loss after each epoch

# The time of scikit-learn's boosted trees on one core, for each tree and each of its cells.
TREES = 100  # for each output
TREE_SECONDS, TREE_CELL_SECONDS = 4e-3, 6e-9


@dataclass(frozen=True, kw_only=True)
class ResolvedPlan:
    """The numbers of a plan that depend on the time and on the speed of the machine.

    `config.toml` holds them, so that a resumed run does not measure again and decide otherwise.
    """

    search_epochs: Annotated[int, Bounds(ge=1, le=MAX_EPOCHS)]
    epochs: Annotated[int, Bounds(ge=1, le=MAX_EPOCHS)]
    candidates: Annotated[int, Bounds(ge=1)]
    limit_share: Annotated[float, Bounds(gt=0, le=1)] = 1.0
    latency: ResolvedLatency | None = None
    latencies: tuple[ResolvedLatency, ...] = ()  # of a trade-off, by embeddings

    @classmethod
    def decode(cls, value: Any) -> ResolvedPlan:
        """Decode the section `plan` of a configuration."""
        try:
            return decode(cls, value, source="the plan of the run")
        except DecodeError as error:
            raise TabNASError(f"{error}; start a new run") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe:
    """How every candidate is trained and evaluated: what worker processes need of a plan."""

    training: TrainingSettings
    optimizer: Optimizer
    folds: int  # of cross-validation; 0 if candidates are chosen by the validation rows
    engine: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Recipe):
    """All that a run will do, in numbers."""

    feasible: FeasibleSet
    search: SearchSettings
    candidates: int
    try_simpler: bool  # whether simpler networks than those of the search become candidates
    refit: bool  # whether the final model is trained once more, on all rows
    measure_step_seconds: Callable[[], float]  # measures when first called
    rows: int  # for training
    choosing_rows: int  # that candidates are chosen by
    comparison_seconds: float  # an estimate for the boosted trees
    latency: LatencyPlan | None = None  # if there are limits on latency
    limit_share: float = 1.0  # of the limits that the space is made for; less if time is short
    notes: tuple[str, ...] = ()  # for the user

    @property
    def recipe(self) -> Recipe:
        """The part of the plan that worker processes need."""
        return Recipe(**{each.name: getattr(self, each.name) for each in fields(Recipe)})

    @property
    def seconds_per_step(self) -> float:
        """The time of a training step of the largest feasible network, measured once."""
        return self.measure_step_seconds()

    @property
    def largest_parameters(self) -> int:
        """The parameters of the most expensive feasible network."""
        return int(COSTS["parameters"](self.feasible.space, self.feasible.most_expensive()))

    @property
    def training_seconds(self) -> float:
        """An estimate of the time of one stand-alone training."""
        return VALIDATION_OVERHEAD * self._steps(self.training.epochs) * self.seconds_per_step

    @property
    def seconds(self) -> dict[str, float]:
        """An estimate of the time of each phase, without reading and compilation."""
        candidates = self.candidates + SIMPLER_CANDIDATES * self.try_simpler
        trainings = candidates * max(1, self.folds) + bool(self.folds) + self.refit
        return {
            "search": SEARCH_OVERHEAD * self._steps(self.search.epochs) * self.seconds_per_step,
            "candidates": trainings * self.training_seconds,
            "comparison": self.comparison_seconds,
        }

    def _steps(self, epochs: int) -> int:
        return epochs * ceil(self.rows / self.training.batch_size)

    @property
    def resolved(self) -> dict[str, Any]:
        """The numbers that a resumed run must reuse, fit for TOML: a `ResolvedPlan`."""
        numbers: dict[str, Any] = {
            "search_epochs": self.search.epochs,
            "epochs": self.training.epochs,
            "candidates": self.candidates,
        }
        if self.limit_share < 1:
            numbers["limit_share"] = self.limit_share
        return numbers if self.latency is None else numbers | {"latency": self.latency.resolved}

    @property
    def costs(self) -> dict[str, Cost]:
        """Every cost of an architecture that is known before it is trained."""
        return COSTS | dict(self.latency.costs if self.latency else {})

    def with_resolved(self, resolved: ResolvedPlan) -> Plan:
        """Return the plan with the numbers of an earlier process."""
        if resolved.candidates > max(MAX_CANDIDATES, self.candidates):
            raise TabNASError(
                "the plan of the run: candidates must follow from the settings, got "
                f"{resolved.candidates:,}; start a new run"
            )
        return replace(
            self,
            search=replace(self.search, epochs=resolved.search_epochs),
            training=replace(self.training, epochs=resolved.epochs),
            candidates=resolved.candidates,
        )

    def stretch_for(self, seconds: float) -> float:
        """Return the factor by which trainings must become longer to take that time in all.

        The comparison takes what it takes, but leaves at least half the time to the rest.
        """
        left = max(seconds - self.comparison_seconds, seconds / 2)
        return left / (sum(self.seconds.values()) - self.comparison_seconds)

    @property
    def min_stretch(self) -> float:
        """How much shorter than planned a training may become."""
        return max(MIN_STRETCH, 1 / self.training.epochs)

    def fit_time(self, seconds: float, *, keep_candidates: bool = False) -> Plan:
        """Return the plan with trainings and candidates that take about that time."""
        factor = self.stretch_for(seconds)
        stretch = min(factor, MAX_STRETCH, MAX_EPOCHS / self.training.epochs)
        more = max(1.0, factor / stretch)
        return replace(
            self,
            search=replace(self.search, epochs=_scale_epochs(self.search.epochs, stretch)),
            training=replace(self.training, epochs=_scale_epochs(self.training.epochs, stretch)),
            candidates=self.candidates
            if keep_candidates
            else min(round(self.candidates * more), self._max_candidates),
        )

    @property
    def _max_candidates(self) -> int:
        return max(self.candidates, min(MAX_CANDIDATES, self.choosing_rows // ROWS_PER_CANDIDATE))


def make_plan(
    data: PreparedData,
    settings: RunSettings,
    resolved: ResolvedPlan | None = None,
    *,
    measure: Measure = measure_models,
    on_fraction: Callable[[float], None] = lambda done: None,
) -> Plan:
    """Return the plan of a run.

    Parameters
    ----------
    resolved
        The numbers of an earlier process, if its run is resumed.
    measure
        The function that measures the latency of models.
    on_fraction
        Receives how much of the measuring of this machine is done.
    """
    latency = plan_latency(
        data,
        settings,
        None if resolved is None else resolved.latency,
        resume=resolved is not None,
        measure=measure,
        on_fraction=on_fraction,
    )
    limit_share = 1.0 if resolved is None else resolved.limit_share
    try:
        plan = _make_default_plan(data, settings, latency, limit_share)
    except InfeasibleError:
        if latency is None or resolved is not None:
            raise
        latency = latency.remeasure(data)  # a busy moment must not make a limit infeasible
        plan = _make_default_plan(data, settings, latency, limit_share)
    default_epochs = plan.training.epochs
    if resolved is not None:
        plan = plan.with_resolved(resolved)
    elif settings.time is not None:
        plan = _narrow_to_time(plan, data, settings)
        plan = plan.fit_time(settings.time, keep_candidates=settings.candidates is not None)
    return replace(plan, notes=_note_short_time(plan, settings, default_epochs))


def _narrow_to_time(plan: Plan, data: PreparedData, settings: RunSettings) -> Plan:
    """Return a plan whose largest networks can be trained in time; the user's widths stay."""
    assert settings.time is not None
    while settings.widths is None and plan.stretch_for(settings.time) < plan.min_stretch:
        share = plan.stretch_for(settings.time) / plan.min_stretch
        factor = min(MAX_NARROWING, max(MIN_NARROWING, share))
        narrower = _make_default_plan(data, settings, plan.latency, plan.limit_share * factor)
        is_halved = narrower.largest_parameters <= plan.largest_parameters / 2
        if is_halved and narrower.seconds_per_step > MAX_TIME_RATIO * plan.seconds_per_step:
            break  # it is not the network that takes the time
        if narrower.feasible.space.size <= MIN_SPACE:
            break
        plan = narrower
    return plan


def _note_short_time(plan: Plan, settings: RunSettings, default_epochs: int) -> tuple[str, ...]:
    """Return notes on what a short time has cost."""
    if settings.time is None:
        return ()
    notes = []
    if plan.limit_share < 1:
        notes.append(
            f"{settings.time:g} s are too short to train the largest networks within the limits: "
            f"none of more than {plan.largest_parameters:,} parameters was tried; "
            "give more time to try larger ones"
        )
    if plan.training.epochs < MIN_STRETCH * default_epochs:
        notes.append(
            f"{settings.time:g} s are too short for these rows and networks: "
            f"{plan.training.epochs} of the usual {default_epochs} epochs were trained; give more "
            "time, or narrower widths"
        )
    return tuple(notes)


def _make_default_plan(
    data: PreparedData, settings: RunSettings, latency: LatencyPlan | None, limit_share: float
) -> Plan:
    """Return the plan without regard to time, in a space for a share of the limits."""
    feasible = _make_feasible_set(data, settings, latency, limit_share)
    rows = len(data.train)
    batch_size = default_batch_size(rows)
    epochs = default_epochs(rows, batch_size)
    schedule = Cosine(LEARNING_RATE)
    is_small = len(data.train_and_validation) <= MAX_CROSS_VALIDATED_ROWS
    return Plan(
        feasible=feasible,
        search=SearchSettings(
            epochs=ceil(SEARCH_SHARE * epochs),
            batch_size=max(1, batch_size // settings.workers),
            optimizer=OPTIMIZER,
            schedule=schedule,
            seed=settings.seed,
            workers=settings.workers,
            evaluations_per_step=EVALUATIONS_PER_STEP,
            policy_every=POLICY_EVERY,
            baseline="others",
            policy_optimizer=PolicyAdam(learning_rate=POLICY_LEARNING_RATE),
            reward="rejection" if feasible.is_exact else "rejection_monte_carlo",
        ),
        training=TrainingSettings(
            epochs=epochs, batch_size=batch_size, schedule=schedule, seed=settings.seed
        ),
        optimizer=OPTIMIZER,
        candidates=settings.candidates or CANDIDATES,
        folds=data.folds,
        try_simpler=is_small and settings.candidates is None,
        refit=settings.refit,
        engine=settings.engine,
        measure_step_seconds=cache(lambda: _time_step(data, feasible, batch_size, settings)),
        rows=rows,
        choosing_rows=len(data.train_and_validation if data.folds else data.validation),
        comparison_seconds=_estimate_comparison_seconds(data, settings),
        latency=latency,
        limit_share=limit_share,
    )


def make_space(
    data: PreparedData, settings: RunSettings, budget: Budget, limit_share: float = 1.0
) -> SearchSpace:
    """Return the space of the user's widths, or the default space for a share of the limits."""
    inputs = data.task.inputs
    ends = {
        "inputs": inputs.width,
        "outputs": data.task.outputs,
        "embedding_parameters": inputs.embedding_parameters,
    }
    layers = {} if settings.layers is None else {"layers": settings.layers}
    if settings.widths is None:
        scaled = relax(budget, SearchSpace([[ABSENT]], **ends), limit_share)
        octaves = {} if limit_share == 1 else {"octaves_above": NARROW_OCTAVES}
        return default_space(scaled, **ends, **layers, **octaves)
    return SearchSpace.uniform(widths=settings.widths, **ends, **({"layers": 3} | layers))


def _make_feasible_set(
    data: PreparedData, settings: RunSettings, latency: LatencyPlan | None, limit_share: float
) -> FeasibleSet:
    """Return the feasible set; an error for an empty one says what would help."""
    budget = settings.budget_with(latency.costs if latency else {})
    space = make_space(data, settings, budget, limit_share)
    check_memory(space, data.task, OPTIMIZER)
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
    """Return the largest power of two, from 32 to 512, with at least 150 steps per epoch."""
    size = 32
    while size < 512 and rows / (2 * size) >= 150:
        size *= 2
    return size


def default_epochs(rows: int, batch_size: int) -> int:
    """Return 40; more if that would be few steps, fewer if it would be very many rows."""
    enough = ceil(MIN_STEPS / ceil(rows / batch_size))
    too_many = MAX_ROWS_SHOWN // rows
    return max(MIN_EPOCHS, min(max(EPOCHS, enough), too_many, MAX_EPOCHS))


def _estimate_comparison_seconds(data: PreparedData, settings: RunSettings) -> float:
    if data.test is None or not settings.baselines:
        return 0.0
    columns = len(data.encoder.features) + len(data.encoder.categories)
    cells = min(len(data.train), MAX_TREE_ROWS) * columns
    return TREES * data.task.outputs * (TREE_SECONDS + TREE_CELL_SECONDS * cells)


def _scale_epochs(epochs: int, factor: float) -> int:
    return max(1, round(epochs * factor))


def _time_step(
    data: PreparedData, feasible: FeasibleSet, batch_size: int, settings: RunSettings
) -> float:
    """Measure the seconds of a training step of the largest feasible network."""
    largest = feasible.most_expensive()
    task = data.task
    net = SuperNet.standalone(largest, task, optimizer=OPTIMIZER, engine=settings.engine)
    examples = data.train_in_memory.examples
    rows = stream(0, "pace").integers(len(examples), size=min(batch_size, len(examples)))
    net.train_step(largest, examples, rows, 0.0)  # compiles
    start, steps = perf_counter(), 0
    while perf_counter() - start < TIMING_SECONDS:
        net.train_step(largest, examples, rows, 0.0)
        steps += 1
    return (perf_counter() - start) / steps
