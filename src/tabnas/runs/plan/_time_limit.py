"""Fit a plan to the time that the user allows: fewer or more epochs, networks and candidates."""

from __future__ import annotations

from dataclasses import replace

from tabnas.runs.plan._default_plan import make_default_plan
from tabnas.runs.plan._plan import MAX_EPOCHS, Plan
from tabnas.runs.plan._time_estimates import estimate_speedup
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.threads import get_threads

MAX_EPOCH_FACTOR = 4.0
"""More time makes trainings longer, up to this factor and 500 epochs; then there are more
candidates."""
MIN_EPOCH_FACTOR = 0.25
"""Less time makes trainings shorter, down to this factor; then networks become smaller."""
MIN_LIMIT_FACTOR, MAX_LIMIT_FACTOR = 1 / 16, 1 / 2
"""The share of the limits that is left after one step of making networks smaller."""
MAX_TIME_RATIO = 0.8
"""Networks of half the size must take at most this share of the time to be worth it."""
MIN_SPACE_SIZE = 10
"""Architectures of the smallest space that a short time leads to."""
FACTOR_STEPS = 6
MAX_TEACHER_SHARE = 1 / 3
"""The share of the time that the default teacher may take; then it is left out."""


def leave_out_teachers(plan: Plan, settings: RunSettings) -> Plan:
    """Return a plan whose default teacher takes a third of the time at most.

    The boosted trees are left out first, then the network. A teacher that was asked for stays.
    """
    assert settings.time is not None
    if settings.teacher != "auto":
        return plan
    everyone = plan.teacher
    options = [everyone, everyone.without({"trees"}), everyone.without(everyone.teachers)]
    longest = MAX_TEACHER_SHARE * settings.time * estimate_speedup(get_threads())
    return replace(plan, teacher=next(one for one in options if one.seconds <= longest))


def narrow_to_time(plan: Plan, data: PreparedData, settings: RunSettings) -> Plan:
    """Return a plan whose largest networks can be trained in time; the user's widths stay."""
    assert settings.time is not None
    while settings.widths is None and _epoch_factor(plan, settings.time) < _min_epoch_factor(plan):
        share = _epoch_factor(plan, settings.time) / _min_epoch_factor(plan)
        factor = min(MAX_LIMIT_FACTOR, max(MIN_LIMIT_FACTOR, share))
        narrower = make_default_plan(data, settings, plan.latency, plan.limit_share * factor)
        narrower = leave_out_teachers(narrower, settings)
        is_halved = narrower.largest_parameters <= plan.largest_parameters / 2
        if is_halved and narrower.seconds_per_step > MAX_TIME_RATIO * plan.seconds_per_step:
            break  # it is not the network that takes the time
        if narrower.feasible.space.size <= MIN_SPACE_SIZE:
            break
        plan = narrower
    return plan


def fit_time(plan: Plan, seconds: float, *, keep_candidates: bool = False) -> Plan:
    """Return the plan with trainings and candidates that take about that time."""
    factor = _epoch_factor(plan, seconds)
    more = max(1.0, factor / _max_factor(plan))
    equal = len(plan.equal_dimensions)
    candidates = round((plan.candidates + equal) * more) - equal
    return replace(
        _scale_epochs(plan, factor),
        candidates=plan.candidates if keep_candidates else min(candidates, plan.max_candidates),
    )


def _epoch_factor(plan: Plan, seconds: float) -> float:
    """Return the factor by which trainings must become longer to take that time in all.

    The comparison and the teacher are not scaled, but leave at least half the time to the rest. The
    longer training of the best candidate has a maximum of its own, so that the time is not
    proportional to the epochs: the factor is found step by step.
    """
    work = seconds * estimate_speedup(get_threads())
    fixed = plan.comparison_seconds + plan.teacher.seconds
    left = max(work - fixed, work / 2)
    factor = 1.0
    for _ in range(FACTOR_STEPS):
        scaled = _scale_epochs(plan, factor)
        done = scaled.training.epochs / plan.training.epochs
        factor = left * done / (sum(scaled.estimated_seconds.values()) - fixed)
    return factor


def _min_epoch_factor(plan: Plan) -> float:
    """Return how much shorter than planned a training may become."""
    return max(MIN_EPOCH_FACTOR, 1 / plan.training.epochs)


def _max_factor(plan: Plan) -> float:
    """Return how much longer than planned a training may become."""
    return min(MAX_EPOCH_FACTOR, MAX_EPOCHS / plan.training.epochs)


def _scale_epochs(plan: Plan, factor: float) -> Plan:
    """Return the plan with longer or shorter trainings, within what they may have."""
    factor = min(factor, _max_factor(plan))
    search, training = (
        max(1, round(settings.epochs * factor)) for settings in (plan.search, plan.training)
    )
    return replace(
        plan,
        search=replace(plan.search, epochs=search),
        training=replace(plan.training, epochs=training),
    )


def note_short_time(plan: Plan, settings: RunSettings, default_epochs: int) -> tuple[str, ...]:
    """Return notes on what a short time has cost."""
    if settings.time is None:
        return ()
    notes = []
    if plan.teacher.left_out:
        notes.append(
            f"{settings.time:g} s are too short for boosted trees as a teacher: only a wide "
            "network taught; give more time to have both"
            if plan.teacher.teachers
            else f"{settings.time:g} s are too short for a teacher: networks learned from labels "
            "alone; give more time to have one"
        )
    if plan.limit_share < 1:
        notes.append(
            f"{settings.time:g} s are too short to train the largest networks within the limits: "
            f"none of more than {plan.largest_parameters:,} parameters was tried; "
            "give more time to try larger ones"
        )
    if plan.training.epochs < MIN_EPOCH_FACTOR * default_epochs:
        notes.append(
            f"{settings.time:g} s are too short for these rows and networks: "
            f"{plan.training.epochs} of the usual {default_epochs} epochs were trained; give more "
            "time, or narrower widths"
        )
    return tuple(notes)
