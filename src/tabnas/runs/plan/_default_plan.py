"""The default plan of a run: how long trainings are if time is not limited."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.nets import Adam, Cosine, TrainingSettings
from tabnas.policy import Adam as PolicyAdam
from tabnas.runs.plan._equal_networks import list_equal_networks
from tabnas.runs.plan._feasible_set import make_feasible_set
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._plan import MAX_EPOCHS, Plan
from tabnas.runs.plan._teacher_plan import plan_teacher
from tabnas.runs.plan._time_estimates import estimate_comparison_seconds, time_step
from tabnas.runs.prepare._prepared_data import MAX_CROSS_VALIDATED_ROWS, PreparedData
from tabnas.search import SearchSettings
from tabnas.settings import RunSettings
from tabnas.space import Architecture, SearchSpace

# Chosen on thirteen tables (results/training.md).
LEARNING_RATE = 0.01
OPTIMIZER = Adam(weight_decay=0.1)
EPOCHS = 40
MIN_STEPS = 2_000
"""Small tables train for more epochs, so that a training has this many steps."""
MAX_ROWS_READ = 40_000_000
"""Large tables train for fewer epochs, so that a training reads at most this many rows."""
MIN_EPOCHS = 1
AVERAGING = 1.0
"""Epochs that the average of weights of a stand-alone training reaches back. It lowers the loss on
most tables, most of all with numeric embeddings, and raises it on none by more than seeds do; 0.5
to 4 epochs are about as good (results/weight_averaging.md). The SuperNet is not averaged."""

# Chosen by the quality of the candidates, and the cost (results/weight_sampling.md).
SEARCH_SHARE = 0.6
"""Epochs of the search for each epoch of a stand-alone training."""
EVALUATIONS_PER_STEP, POLICY_EVERY = 8, 16
POLICY_LEARNING_RATE = 0.1
CANDIDATES = 3
"""Networks of the search that are trained stand-alone, before `default_candidates` adjusts it."""


def make_default_plan(
    data: PreparedData, settings: RunSettings, latency: LatencyPlan | None, limit_share: float
) -> Plan:
    """Return the plan without regard to time, in a space for a share of the limits."""
    feasible = make_feasible_set(data, settings, OPTIMIZER, latency, limit_share)
    rows = len(data.train)
    batch_size = default_batch_size(rows)
    epochs = default_epochs(rows, batch_size)
    schedule = Cosine(LEARNING_RATE)
    is_small = len(data.train_and_validation) <= MAX_CROSS_VALIDATED_ROWS
    free_widths = settings.widths is None and accepts_any_width(feasible)
    equal_dimensions: tuple[int, ...] = ()
    if free_widths and settings.candidates is None:
        equal = list_equal_networks(feasible, limit_share)
        equal_dimensions = tuple(one.dimension for one in equal)
    candidates = settings.candidates or default_candidates(feasible.space, equal_dimensions)
    teacher = plan_teacher(
        data,
        settings,
        feasible=feasible,
        trainings=1 + (candidates + len(equal_dimensions)) * max(1, data.folds),
        epochs=epochs,
    )
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
            reward=default_reward(feasible),
        ),
        training=TrainingSettings(
            epochs=epochs,
            batch_size=batch_size,
            schedule=schedule,
            seed=settings.seed,
            averaging=AVERAGING,
        ),
        max_longer_epochs=MAX_ROWS_READ // rows,
        optimizer=OPTIMIZER,
        candidates=candidates,
        folds=data.folds,
        precisions=settings.precisions,
        free_widths=free_widths,
        equal_dimensions=equal_dimensions,
        try_simpler=is_small and settings.candidates is None,
        refit=settings.refit,
        engine=settings.engine,
        measure_step_seconds=cache(
            lambda: time_step(data, feasible, batch_size, OPTIMIZER, settings.engine)
        ),
        rows=rows,
        selection_rows=len(data.train_and_validation if data.folds else data.validation),
        comparison_seconds=estimate_comparison_seconds(data, settings),
        teacher=teacher,
        latency=latency,
        limit_share=limit_share,
    )


def accepts_any_width(feasible: FeasibleSet) -> bool:
    """Return whether the limited costs are known for widths between those of the space.

    A custom cost may be a table of the widths of the space.
    """
    space = feasible.space
    between = Architecture(tuple(max(1, layer[-1] - 1) for layer in space.widths))
    try:
        feasible.budget.costs(space, between)
    except (TabNASError, LookupError):
        return False
    return True


def default_candidates(
    space: SearchSpace, equal_dimensions: Sequence[int], candidates: int = CANDIDATES
) -> int:
    """Return the number of candidates from the search.

    One fewer if networks of equal layers are tried, too. Else one more if numbers can be embedded
    or not, since one-shot losses cannot tell which is better (results/dimension_ranking.md).
    """
    if equal_dimensions:
        return candidates - 1
    embeddings = space.numeric_embeddings
    return candidates + (embeddings is not None and len(embeddings.dimensions) > 1)


def default_reward(feasible: FeasibleSet) -> str:
    """Return the name of the reward that rejects: with the exact P(V), or an estimate of it."""
    return "rejection" if feasible.is_exact else "rejection_monte_carlo"


def default_batch_size(rows: int) -> int:
    """Return the largest power of two, from 32 to 512, with at least 150 steps per epoch."""
    size = 32
    while size < 512 and rows / (2 * size) >= 150:
        size *= 2
    return size


def default_epochs(rows: int, batch_size: int) -> int:
    """Return 40; more if that would be few steps, fewer if it would be very many rows."""
    enough = ceil(MIN_STEPS / ceil(rows / batch_size))
    too_many = MAX_ROWS_READ // rows
    return max(MIN_EPOCHS, min(max(EPOCHS, enough), too_many, MAX_EPOCHS))
