"""Candidates of several limits trained at once, each entered as soon as it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from tabnas.jobs import JobConfig, run_jobs
from tabnas.model import metric_named
from tabnas.runs._progress import Observer, Progress
from tabnas.runs._recipe import Recipe
from tabnas.runs.candidates._train_candidates import enter_candidate, outcome_of
from tabnas.runs.candidates._training import Candidate, trial_of
from tabnas.runs.checkpoints._run_checkpoint import Entries, Ledger, believed
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.runs.search._search_step import Found
from tabnas.space import Architecture

if TYPE_CHECKING:
    from tabnas.runs._pipeline import PlannedRun

Job = tuple[int, int, Architecture]
"""A candidate by the number of its limit, its own number there, and its architecture."""


def train_side_by_side(
    runs: Sequence[PlannedRun],
    found: Sequence[Found],
    sections: Sequence[Entries],
    ledger: Ledger,
    tell: Observer,
    job_config: JobConfig,
) -> None:
    """Train what was found for every limit, and enter it in the ledger's section of that limit.

    What goes on after that finds all candidates there, as if they had been trained one by one.
    """
    every: list[Job] = [
        (limit, k, one)
        for limit, own in enumerate(found)
        for k, one in enumerate(own.architectures)
    ]
    jobs = [job for job in every if _name(job[1]) not in sections[job[0]]]
    shared = {id(run.parts): _for_training(run.parts) for run in runs}
    parts = tuple(shared[id(run.parts)] for run in runs)
    recipes = tuple(run.plan.recipe for run in runs)
    work = partial(_trained, parts, recipes, runs[0].metric.name)
    left = len(jobs)
    tell(Progress("candidates", 1 - left / max(1, len(every)), note="side by side"))
    for (limit, k, _), candidate in run_jobs(work, jobs, job_config, on_poll=ledger.tick):
        _enter(k, candidate, len(found[limit].architectures), sections[limit])
        ledger.save()  # an hour on a cluster is not to be lost with this process
        left -= 1
        tell(Progress("candidates", 1 - left / len(every), note=str(candidate.architecture)))


def _for_training(parts: Parts) -> Parts:
    """The parts that a worker is sent: nobody is judged or measured there."""
    return replace(parts, test=None, sample=None, trees=None)


def _trained(parts: Sequence[Parts], recipes: Sequence[Recipe], metric: str, job: Job) -> Candidate:
    """What a worker does."""
    limit, _, architecture = job
    chosen_by = metric_named(metric, parts[limit].target.task)
    return outcome_of(trial_of(architecture, parts[limit], recipes[limit], chosen_by))


def _enter(k: int, candidate: Candidate, count: int, section: Entries) -> None:
    """Only the best so far keeps its weights; of two alike the first, as one after the other."""
    with believed():
        others = {
            other: float(section.facts(_name(other))["loss"])
            for other in range(count)
            if _name(other) in section
        }
    if not candidate.loss < inf or any(
        (loss, other) < (candidate.loss, k) for other, loss in others.items()
    ):
        candidate = replace(candidate, weights=None)
    elif candidate.weights is not None:
        for other in others:
            section.forget_arrays(_name(other))
    enter_candidate(_name(k), candidate, section)


def _name(k: int) -> str:
    return f"candidate {k + 1}"
