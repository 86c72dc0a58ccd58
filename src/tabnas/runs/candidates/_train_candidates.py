"""Train every candidate of a run stand-alone, and rank them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isnan

import numpy as np

from tabnas.decoding import Count, PositiveFloat, decode
from tabnas.errors import TabNASError
from tabnas.nets import NonFiniteLossError
from tabnas.runs._context import RunContext
from tabnas.runs._progress import ProgressCallback, make_fraction_callback
from tabnas.runs.candidates._training import (
    Candidate,
    CandidateTraining,
    FractionCallback,
    StepCallback,
    make_candidate_training,
)
from tabnas.runs.checkpoints._run_checkpoint import StepCheckpoint, reject_malformed
from tabnas.runs.plan._plan import Plan
from tabnas.space import Architecture


@dataclass(frozen=True)
class CandidateRecord:
    """What a checkpoint holds of a candidate, in addition to its weights."""

    loss: float
    stop_after: Count
    temperature: PositiveFloat
    seconds: float


def train_candidates(
    run: RunContext,
    architectures: Sequence[Architecture],
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
) -> list[Candidate]:
    """Train every architecture stand-alone; only the best candidate keeps its weights."""
    candidates: list[Candidate] = []
    best = inf
    for k, architecture in enumerate(architectures):
        name = candidate_step(k)
        is_recorded = name in checkpoint
        if is_recorded:
            candidate = _load_candidate(architecture, name, run.plan, checkpoint)
        else:
            training = make_candidate_training(architecture, run.data, run.plan, run.metric)
            checkpoint.start_or_restore(name, training)
            on_fraction = make_fraction_callback(
                "candidates", k, len(architectures), str(architecture), on_progress
            )
            candidate = run_training(training, on_fraction, checkpoint.save_if_due)
        if not candidate.loss < best:  # a recorded one may have been the first to finish
            candidate = replace(candidate, weights=None)
            checkpoint.forget_arrays(name)
        elif candidate.weights is not None:
            for earlier in range(k):
                checkpoint.forget_arrays(candidate_step(earlier))
                candidates[earlier] = replace(candidates[earlier], weights=None)
        best = min(best, candidate.loss)
        candidates.append(candidate)
        if not is_recorded:
            record_candidate(name, candidate, checkpoint)
    return candidates


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
        return Candidate.diverged(training.architecture)


def record_candidate(name: str, candidate: Candidate, checkpoint: StepCheckpoint) -> None:
    """Store a candidate, with its weights if it has them."""
    record = CandidateRecord(
        candidate.loss, candidate.stop_after, candidate.temperature, candidate.seconds
    )
    checkpoint.record(name, record, candidate.weights)


def _load_candidate(
    architecture: Architecture, name: str, plan: Plan, checkpoint: StepCheckpoint
) -> Candidate:
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
    return Candidate(architecture=architecture, weights=weights, **vars(record))


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
