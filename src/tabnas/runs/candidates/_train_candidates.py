"""Train every candidate of a run stand-alone, and rank them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan

import numpy as np

from tabnas.decoding import Count, PositiveFloat, Probability, decode
from tabnas.errors import TabNASError
from tabnas.nets import NonFiniteLossError
from tabnas.results import describe_lesson
from tabnas.runs._answers import LABELS_ONLY, Lesson
from tabnas.runs._context import RunContext
from tabnas.runs._progress import ProgressCallback, make_fraction_callback
from tabnas.runs.candidates._training import (
    Candidate,
    CandidateTraining,
    FractionCallback,
    StepCallback,
    Trial,
    make_candidate_training,
)
from tabnas.runs.checkpoints._run_checkpoint import StepCheckpoint, reject_malformed
from tabnas.runs.plan._plan import Plan
from tabnas.space import Architecture

TEACHER_SHARES = (0.7, 0.4)
"""Shares of the teacher's answers in the target; which is better differs from table to table
(results/teachers.md)."""


@dataclass(frozen=True)
class CandidateRecord:
    """What a checkpoint holds of a candidate, in addition to its weights."""

    loss: float
    share: Probability
    uses_unlabelled: bool
    stop_after: Count
    temperature: PositiveFloat
    seconds: float


def train_candidates(
    run: RunContext,
    architectures: Sequence[Architecture],
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
) -> list[Candidate]:
    """Train every architecture stand-alone.

    With a teacher, the first is trained with each lesson: two shares of the answers, and labels
    alone. The others learn the lesson that was best for it. If the best of all was taught, it is
    trained by labels alone, too, which shows what the teacher is worth.

    Only the best candidate keeps its weights, and the same architecture by labels alone.
    """
    trials = first_trials(run, architectures)
    candidates = _train_trials(run, trials, [], len(architectures), on_progress, checkpoint)
    more = following_trials(run, architectures, candidates)
    candidates = _train_trials(run, more, candidates, len(architectures), on_progress, checkpoint)
    last = last_trials(run, candidates)
    return _train_trials(run, last, candidates, len(architectures), on_progress, checkpoint)


def first_trials(run: RunContext, architectures: Sequence[Architecture]) -> list[Trial]:
    """Return the trials that do not depend on the results of others."""
    if run.answers is None:
        return [Trial(architecture) for architecture in architectures]
    return [
        Trial(architecture, lesson)
        for architecture in architectures[:1]
        for lesson in list_lessons(run)
    ]


def list_lessons(run: RunContext) -> tuple[Lesson, ...]:
    """Return what a network of the run can learn from."""
    if run.answers is None:
        return (LABELS_ONLY,)
    taught = [Lesson(share) for share in TEACHER_SHARES]
    if run.data.unlabelled is not None and len(run.answers.unlabelled):
        taught.append(replace(taught[0], uses_unlabelled=True))
    return (*taught, LABELS_ONLY)


def following_trials(
    run: RunContext, architectures: Sequence[Architecture], candidates: Sequence[Candidate]
) -> list[Trial]:
    """Return the trials of the other architectures, in the way that was better for the first."""
    if run.answers is None or not candidates:
        return []
    first = candidates[: len(list_lessons(run))]
    better = min(first, key=lambda candidate: candidate.loss).lesson
    return [Trial(architecture, better) for architecture in architectures[1:]]


def last_trials(run: RunContext, candidates: Sequence[Candidate]) -> list[Trial]:
    """Return the best architecture by labels alone, unless it was trained so."""
    if run.answers is None or not candidates:
        return []
    best = min(candidates, key=lambda candidate: candidate.loss).architecture
    known = {candidate.lesson for candidate in candidates if candidate.architecture == best}
    return [] if LABELS_ONLY in known else [Trial(best)]


def _train_trials(
    run: RunContext,
    trials: Sequence[Trial],
    trained: Sequence[Candidate],
    expected: int,
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
) -> list[Candidate]:
    """Return the trained candidates and those of more trials."""
    candidates = list(trained)
    total = expected + len(list_lessons(run)) - (run.answers is None)
    for k, trial in enumerate(trials, start=len(candidates)):
        name = candidate_step(k)
        is_recorded = name in checkpoint
        if is_recorded:
            candidate = _load_candidate(trial, name, run.plan, checkpoint)
        else:
            training = make_candidate_training(trial, run.data, run.plan, run.metric, run.answers)
            checkpoint.start_or_restore(name, training)
            on_fraction = make_fraction_callback(
                "candidates", k, total, describe_trial(trial, run), on_progress
            )
            candidate = run_training(training, on_fraction, checkpoint.save_if_due)
        candidates.append(candidate)
        if not is_recorded:
            record_candidate(name, candidate, checkpoint)
        for number in find_worse(dict(enumerate(candidates))):
            candidates[number] = replace(candidates[number], weights=None)
            checkpoint.forget_arrays(candidate_step(number))
    return candidates


def find_worse(candidates: Mapping[int, Candidate]) -> list[int]:
    """Return the numbers of the candidates whose weights nothing needs.

    Those of the best become the model; the same architecture by labels alone is compared with it.
    """
    best = min(candidates.values(), key=lambda candidate: candidate.loss)
    return [
        number
        for number, candidate in candidates.items()
        if not candidate.loss < inf
        or (
            candidate is not best
            and (candidate.architecture, candidate.lesson) != (best.architecture, LABELS_ONLY)
        )
    ]


def load_candidates(
    trials: Sequence[Trial], plan: Plan, checkpoint: StepCheckpoint
) -> dict[int, Candidate]:
    """Return the candidates of these trials that are trained already, by their number."""
    return {
        number: _load_candidate(trial, candidate_step(number), plan, checkpoint)
        for number, trial in enumerate(trials)
        if candidate_step(number) in checkpoint
    }


def describe_trial(trial: Trial, run: RunContext) -> str:
    """Return the architecture, and what it learns from if there is a teacher."""
    if run.answers is None:
        return str(trial.architecture)
    lesson = describe_lesson(trial.lesson.share, uses_unlabelled=trial.lesson.uses_unlabelled)
    return f"{trial.architecture}, {lesson}"


def candidate_step(index: int) -> str:
    """Return the name of a candidate's step in the checkpoint."""
    return f"candidate {index + 1}"


def run_training(
    training: CandidateTraining,
    on_fraction: FractionCallback = lambda done: None,
    on_step: StepCallback = lambda: None,
) -> Candidate:
    """Train a candidate; its loss is infinite if the training diverges."""
    try:
        return training.run(on_fraction, on_step)
    except NonFiniteLossError:
        return Candidate.diverged(training.trial)


def record_candidate(name: str, candidate: Candidate, checkpoint: StepCheckpoint) -> None:
    """Store a candidate, with its weights if it has them."""
    record = CandidateRecord(
        candidate.loss,
        candidate.lesson.share,
        candidate.lesson.uses_unlabelled,
        candidate.stop_after,
        candidate.temperature,
        candidate.seconds,
    )
    checkpoint.record(name, record, candidate.weights)


def _load_candidate(trial: Trial, name: str, plan: Plan, checkpoint: StepCheckpoint) -> Candidate:
    """Return a candidate that an earlier process has trained."""
    weights = checkpoint.arrays(name) or None
    with reject_malformed():
        record = decode(CandidateRecord, checkpoint.result(name), source=name)
        if isnan(record.loss):
            raise TabNASError(f"{name}: loss must be a number, got nan")
        if not 1 <= record.stop_after <= plan.training.epochs:
            raise TabNASError(
                f"{name}: stop_after must be an epoch of the plan, from 1 to "
                f"{plan.training.epochs}, got {record.stop_after}"
            )
        if Lesson(record.share, record.uses_unlabelled) != trial.lesson:
            raise TabNASError(f"{name}: it has learned from something else than the run would")
    return Candidate(
        architecture=trial.architecture,
        lesson=trial.lesson,
        loss=record.loss,
        stop_after=record.stop_after,
        temperature=record.temperature,
        seconds=record.seconds,
        weights=weights,
    )


def rank_candidates(
    run: RunContext, candidates: Sequence[Candidate]
) -> tuple[list[int], list[str]]:
    """Return the indices of the candidates, best first, and notes on those that diverged."""
    order = np.argsort([candidate.loss for candidate in candidates], kind="stable").tolist()
    finite = [k for k in order if candidates[k].loss < inf]
    if not finite:
        raise TabNASError(
            f"the training of all {len(candidates)} candidates diverged, so there is no model; "
            f"scale the columns or drop the extreme ones: {run.data.describe_largest_value()}"
        )
    diverged = [candidates[k].architecture for k in order[len(finite) :]]
    notes = [f"the candidate {name} was left out: its training diverged" for name in diverged]
    return finite, notes
