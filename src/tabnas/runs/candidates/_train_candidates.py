"""Train every candidate of a run stand-alone, and rank them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan

import numpy as np

from tabnas.decoding import Count, PositiveFloat, Probability, decode
from tabnas.errors import TabNASError
from tabnas.nets import NonFiniteLossError
from tabnas.results import describe_distillation
from tabnas.runs._answers import LABELS_ONLY, Distillation
from tabnas.runs._context import RunContext
from tabnas.runs._job_pool import JobPool
from tabnas.runs._progress import PhaseProgress, ProgressCallback
from tabnas.runs.candidates._candidate import Candidate, Trial
from tabnas.runs.candidates._cross_validation import CrossValidation
from tabnas.runs.candidates._fold_jobs import FoldJobs
from tabnas.runs.candidates._make_training import make_candidate_training
from tabnas.runs.candidates._training import CandidateTraining, FractionCallback, StepCallback
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint, reject_malformed
from tabnas.runs.plan._plan import Plan
from tabnas.space import Architecture, Precision

TEACHER_SHARES = (0.7, 0.4)
"""Shares of the teacher's answers in the target; which is better differs from table to table
(results/teachers.md)."""
RUNNERS_UP = 2
"""Architectures besides the best that are trained with the best distillation, too."""


@dataclass(frozen=True)
class CandidateRecord:
    """What a checkpoint holds of a candidate, in addition to its weights."""

    loss: float
    float32_loss: float
    precision: Precision
    share: Probability
    uses_unlabelled: bool
    is_longer: bool
    stop_after: Count
    temperature: PositiveFloat


def train_candidates(
    run: RunContext,
    architectures: Sequence[Architecture],
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
    pool: JobPool,
) -> list[Candidate]:
    """Train every architecture stand-alone, in the rounds of `next_trials`.

    The trainings of a round work side by side. Only the best candidate keeps its weights, and the
    same architecture by labels alone.
    """
    total: float = len(architectures) + len(list_distillations(run)) - 1
    if run.plan.trains_longer:
        total += run.plan.length_ratio * (1 if run.answers is None else 2)
    phase = PhaseProgress("candidates", on_progress, total=total)

    candidates: list[Candidate] = []
    while trials := next_trials(run, architectures, candidates):
        started = [
            _start_trial(run, trial, name_candidate_step(k), phase, checkpoint, pool)
            for k, trial in enumerate(trials, start=len(candidates))
        ]
        for get_candidate in started:
            candidates.append(get_candidate())
            for number in find_worse(dict(enumerate(candidates))):
                candidates[number] = replace(candidates[number], weights=None)
                checkpoint.forget_arrays(name_candidate_step(number))
    phase.finish()
    return candidates


def next_trials(
    run: RunContext, architectures: Sequence[Architecture], candidates: Sequence[Candidate]
) -> list[Trial]:
    """Return the trials of the next round, from what was trained before; none after the last.

    1. Every architecture has the first distillation: with a teacher, mostly its answers.
    2. The best has the others: fewer answers, and labels alone.
    3. If another distillation is better, the next best architectures have it, too: the order by
       the first may be another.
    4. The best of all learns from labels alone, if it has not: that shows what the teacher is
       worth.
    5. The best of all is trained longer, with its distillation and by labels alone: short trainings
       suffice to compare networks, but on many tables a longer one is better.

    If step 4 changes which distillation is the best, step 3 follows once more with that one.
    """
    first, *others = list_distillations(run)
    usual = [one for one in candidates if not one.is_longer]
    rounds = [[(architecture, first, False) for architecture in architectures]]
    if usual:
        by_first = sorted(
            (one for one in usual if one.distillation == first), key=lambda one: one.loss
        )
        best = min(usual, key=lambda one: one.loss)
        rounds += [
            [(by_first[0].architecture, distillation, False) for distillation in others],
            [(one.architecture, best.distillation, False) for one in by_first[1 : 1 + RUNNERS_UP]],
            [(best.architecture, LABELS_ONLY, False)],
        ]
        if run.plan.trains_longer:
            distillations = dict.fromkeys([best.distillation, LABELS_ONLY])
            rounds.append(
                [(best.architecture, distillation, True) for distillation in distillations]
            )
    trained = {(one.architecture, one.distillation, one.is_longer) for one in candidates}
    missing = ([trial for trial in trials if trial not in trained] for trials in rounds)
    return [
        Trial(architecture, distillation, run.plan.list_precisions(architecture), is_longer)
        for architecture, distillation, is_longer in next(filter(None, missing), [])
    ]


def list_distillations(run: RunContext) -> tuple[Distillation, ...]:
    """Return what a network of the run can learn from."""
    if run.answers is None:
        return (LABELS_ONLY,)
    with_teacher = [Distillation(share) for share in TEACHER_SHARES]
    if run.data.unlabelled is not None and len(run.answers.unlabelled):
        with_teacher.append(replace(with_teacher[0], uses_unlabelled=True))
    return (*with_teacher, LABELS_ONLY)


def _start_trial(
    run: RunContext,
    trial: Trial,
    step: str,
    phase: PhaseProgress,
    checkpoint: StepCheckpoint,
    pool: JobPool,
) -> Callable[[], Candidate]:
    """Start the training of a candidate; return a function that waits for it."""
    size = run.plan.length_ratio if trial.is_longer else 1.0
    on_fraction = phase.add_job(describe_trial(trial, run), size)
    if step in checkpoint:
        on_fraction(1.0)
        return partial(_load_candidate, trial, step, run.plan, checkpoint)
    training = make_candidate_training(trial, run.data, run.plan, run.metric, run.answers)
    if isinstance(training, CrossValidation):
        folds = FoldJobs(training, step, on_fraction, checkpoint, pool)

        def wait() -> Candidate:
            candidate = folds.wait()
            record_candidate(step, candidate, checkpoint)
            folds.forget()
            return candidate

        return wait

    def train() -> Candidate:
        (network_training,) = training.trainings
        checkpoint.start_or_restore(step, network_training)
        candidate = run_training(training, on_fraction, checkpoint.save_if_due)
        record_candidate(step, candidate, checkpoint)
        return candidate

    return pool.start("candidates", train).result


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
            and (candidate.architecture, candidate.distillation) != (best.architecture, LABELS_ONLY)
        )
    ]


def load_candidates(
    trials: Sequence[Trial], plan: Plan, checkpoint: StepCheckpoint
) -> dict[int, Candidate]:
    """Return the candidates of these trials that are trained already, by their number."""
    return {
        number: _load_candidate(trial, name_candidate_step(number), plan, checkpoint)
        for number, trial in enumerate(trials)
        if name_candidate_step(number) in checkpoint
    }


def describe_trial(trial: Trial | Candidate, run: RunContext) -> str:
    """Return the architecture, and how it is trained, if that differs."""
    longer = ", longer" if trial.is_longer else ""
    if run.answers is None:
        return f"{trial.architecture}{longer}"
    distillation = trial.distillation
    learned = describe_distillation(
        distillation.teacher_share, uses_unlabelled=distillation.uses_unlabelled
    )
    return f"{trial.architecture}, {learned}{longer}"


def name_candidate_step(index: int) -> str:
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
        candidate.float32_loss,
        candidate.precision,
        candidate.distillation.teacher_share,
        candidate.distillation.uses_unlabelled,
        candidate.is_longer,
        candidate.stop_after,
        candidate.temperature,
    )
    checkpoint.record(name, record, candidate.weights)


def _load_candidate(trial: Trial, name: str, plan: Plan, checkpoint: StepCheckpoint) -> Candidate:
    """Return a candidate that an earlier process has trained."""
    weights = checkpoint.arrays(name) or None
    with reject_malformed():
        record = decode(CandidateRecord, checkpoint.result(name), source=name)
        if isnan(record.loss) or isnan(record.float32_loss):
            raise TabNASError(f"{name}: loss must be a number, got nan")
        if record.precision not in trial.precisions:
            raise TabNASError(f"{name}: it exceeds the limits in the precision {record.precision}")
        epochs = plan.get_training(is_longer=trial.is_longer).epochs
        if not 1 <= record.stop_after <= epochs:
            raise TabNASError(
                f"{name}: stop_after must be an epoch of the plan, from 1 to {epochs}, "
                f"got {record.stop_after}"
            )
        distillation = Distillation(record.share, record.uses_unlabelled)
        if (distillation, record.is_longer) != (trial.distillation, trial.is_longer):
            raise TabNASError(f"{name}: it was not trained as the run would")
    return Candidate(
        architecture=trial.architecture,
        distillation=trial.distillation,
        is_longer=trial.is_longer,
        precision=record.precision,
        loss=record.loss,
        float32_loss=record.float32_loss,
        stop_after=record.stop_after,
        temperature=record.temperature,
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
    diverged = [describe_trial(candidates[k], run) for k in order[len(finite) :]]
    notes = [f"the candidate {name} was left out: its training diverged" for name in diverged]
    return finite, notes
