"""Train the candidates of several limits in parallel, and record each when it is finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tabnas.jobs import JobConfig, run_jobs
from tabnas.model import get_metric
from tabnas.runs._answers import Answers
from tabnas.runs._context import RunContext
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs.candidates._candidate import Candidate, Trial
from tabnas.runs.candidates._make_training import make_candidate_training
from tabnas.runs.candidates._train_candidates import (
    find_worse,
    load_candidates,
    name_candidate_step,
    next_trials,
    record_candidate,
    run_training,
)
from tabnas.runs.checkpoints._run_checkpoint import RunCheckpoint
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint
from tabnas.runs.plan._plan import Plan, TrainingPlan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.runs.search._find_candidates import SearchResult

CandidateJob = tuple[int, int, Trial]
"""The index of a limit, the index of a candidate of that limit, and what it is."""


def train_in_parallel(
    runs: Sequence[RunContext],
    searches: Sequence[SearchResult],
    scopes: Sequence[StepCheckpoint],
    checkpoint: RunCheckpoint,
    on_progress: ProgressCallback,
    job_config: JobConfig,
) -> None:
    """Train the candidates of every limit, and record them in the checkpoint of that limit.

    Later steps find all candidates there, as if they had been trained one by one, in the same
    rounds.
    """
    trials: list[list[Trial]] = [[] for _ in runs]
    while True:
        added = [
            next_trials(
                run,
                search.architectures,
                list(load_candidates(its_trials, run.plan, scope).values()),
            )
            for run, search, its_trials, scope in zip(runs, searches, trials, scopes, strict=True)
        ]
        if not any(added):
            return
        for its_trials, more in zip(trials, added, strict=True):
            its_trials += more
        _train_round(runs, trials, scopes, checkpoint, on_progress, job_config)


def _train_round(
    runs: Sequence[RunContext],
    trials: Sequence[Sequence[Trial]],
    scopes: Sequence[StepCheckpoint],
    checkpoint: RunCheckpoint,
    on_progress: ProgressCallback,
    job_config: JobConfig,
) -> None:
    """Train the trials of every limit that are not trained yet."""
    all_jobs: list[CandidateJob] = [
        (limit_index, k, trial)
        for limit_index, its_trials in enumerate(trials)
        for k, trial in enumerate(its_trials)
    ]
    jobs = [job for job in all_jobs if name_candidate_step(job[1]) not in scopes[job[0]]]
    shared = {id(run.data): _training_data(run.data) for run in runs}
    data = tuple(shared[id(run.data)] for run in runs)
    plans = tuple(run.plan.training_plan for run in runs)
    train = partial(_train, data, plans, runs[0].metric.name, runs[0].answers)
    left = len(jobs)
    on_progress(Progress("candidates", 1 - left / max(1, len(all_jobs)), note="in parallel"))
    for (limit_index, k, _), candidate in run_jobs(
        train, jobs, job_config, on_poll=checkpoint.save_if_due
    ):
        plan = runs[limit_index].plan
        _record(k, candidate, trials[limit_index], plan, scopes[limit_index])
        checkpoint.save()  # an hour on a cluster must not be lost with this process
        left -= 1
        on_progress(
            Progress("candidates", 1 - left / len(all_jobs), note=str(candidate.architecture))
        )


def _training_data(data: PreparedData) -> PreparedData:
    """Return what a job needs: it neither scores nor measures."""
    return replace(data, test=None, latency_rows=None, trees=None, unlimited=None)


def _train(
    data: Sequence[PreparedData],
    plans: Sequence[TrainingPlan],
    metric_name: str,
    answers: Answers | None,
    job: CandidateJob,
) -> Candidate:
    """Train one candidate; this is a job."""
    limit_index, _, trial = job
    metric = get_metric(metric_name, data[limit_index].target.task)
    return run_training(
        make_candidate_training(trial, data[limit_index], plans[limit_index], metric, answers)
    )


def _record(
    k: int, candidate: Candidate, trials: Sequence[Trial], plan: Plan, scope: StepCheckpoint
) -> None:
    """Record a candidate, and forget the weights that are not needed any more."""
    record_candidate(name_candidate_step(k), candidate, scope)
    for worse in find_worse(load_candidates(trials, plan, scope)):
        scope.forget_arrays(name_candidate_step(worse))
