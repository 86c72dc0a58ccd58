"""Train the candidates of several limits in parallel, and record each when it is finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

from tabnas.jobs import JobConfig, run_jobs
from tabnas.model import get_metric
from tabnas.runs._context import RunContext
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs.candidates._train_candidates import (
    candidate_step,
    record_candidate,
    run_training,
)
from tabnas.runs.candidates._training import Candidate, make_candidate_training
from tabnas.runs.checkpoints._run_checkpoint import RunCheckpoint, StepCheckpoint, reject_malformed
from tabnas.runs.plan._plan import TrainingPlan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.runs.search._search_step import SearchResult
from tabnas.space import Architecture

Job = tuple[int, int, Architecture]
"""The index of a limit, the index of a candidate of that limit, and its architecture."""


def train_in_parallel(
    runs: Sequence[RunContext],
    searches: Sequence[SearchResult],
    scopes: Sequence[StepCheckpoint],
    checkpoint: RunCheckpoint,
    on_progress: ProgressCallback,
    job_config: JobConfig,
) -> None:
    """Train the candidates of every limit, and record them in the checkpoint of that limit.

    Later steps find all candidates there, as if they had been trained one by one.
    """
    all_jobs: list[Job] = [
        (limit_index, k, architecture)
        for limit_index, search in enumerate(searches)
        for k, architecture in enumerate(search.architectures)
    ]
    jobs = [job for job in all_jobs if candidate_step(job[1]) not in scopes[job[0]]]
    shared = {id(run.data): _training_data(run.data) for run in runs}
    data = tuple(shared[id(run.data)] for run in runs)
    plans = tuple(run.plan.training_plan for run in runs)
    train = partial(_train, data, plans, runs[0].metric.name)
    left = len(jobs)
    on_progress(Progress("candidates", 1 - left / max(1, len(all_jobs)), note="in parallel"))
    for (limit_index, k, _), candidate in run_jobs(
        train, jobs, job_config, on_poll=checkpoint.save_if_due
    ):
        _record(k, candidate, len(searches[limit_index].architectures), scopes[limit_index])
        checkpoint.save()  # an hour on a cluster must not be lost with this process
        left -= 1
        on_progress(
            Progress("candidates", 1 - left / len(all_jobs), note=str(candidate.architecture))
        )


def _training_data(data: PreparedData) -> PreparedData:
    """Return what a worker needs: it neither scores nor measures."""
    return replace(data, test=None, latency_rows=None, trees=None)


def _train(
    data: Sequence[PreparedData], plans: Sequence[TrainingPlan], metric_name: str, job: Job
) -> Candidate:
    """Train one candidate, in a worker."""
    limit_index, _, architecture = job
    metric = get_metric(metric_name, data[limit_index].target.task)
    return run_training(
        make_candidate_training(architecture, data[limit_index], plans[limit_index], metric)
    )


def _record(k: int, candidate: Candidate, count: int, scope: StepCheckpoint) -> None:
    """Record a candidate; only the best so far keeps its weights, of equals the first."""
    with reject_malformed():
        others = {
            other: float(scope.result(candidate_step(other))["loss"])
            for other in range(count)
            if candidate_step(other) in scope
        }
    if not candidate.loss < inf or any(
        (loss, other) < (candidate.loss, k) for other, loss in others.items()
    ):
        candidate = replace(candidate, weights=None)
    elif candidate.weights is not None:
        for other in others:
            scope.forget_arrays(candidate_step(other))
    record_candidate(candidate_step(k), candidate, scope)
