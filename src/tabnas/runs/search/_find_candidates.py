"""The search of a run: Algorithm 1 of the paper, then the selection of candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tabnas.decoding import Count, decode
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.results import LimitEffect, Snapshot
from tabnas.runs._context import RunContext
from tabnas.runs._progress import ProgressCallback
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint, reject_malformed
from tabnas.runs.plan._plan import Plan
from tabnas.runs.search._callback import make_search_callback
from tabnas.runs.search._latency_filter import filter_by_latency
from tabnas.runs.search._limit_effects import estimate_limit_effects
from tabnas.runs.search._selection import select_candidates
from tabnas.runs.search._snapshots import RecordedSearch, SnapshotRecorder
from tabnas.search import PolicySearch, Search, SearchDivergedError, compute_one_shot_losses
from tabnas.space import Architecture


@dataclass(frozen=True)
class SearchResult:
    """The candidates of a search, and what it learned on the way."""

    architectures: tuple[Architecture, ...]  # the candidates
    one_shot: tuple[float, ...]  # their losses with the SuperNet's weights
    effects: tuple[LimitEffect, ...]
    snapshots: tuple[Snapshot, ...]
    skipped: Count  # weight steps whose loss or gradient was not finite
    dropped: tuple[Architecture, ...]  # candidates that were too slow when measured

    def __post_init__(self) -> None:
        if len(self.architectures) != len(self.one_shot):
            raise TabNASError("every candidate must have a one-shot loss")

    @property
    def notes(self) -> list[str]:
        """Notes for the user."""
        if not self.dropped:
            return []
        return [
            f"{len(self.dropped)} of the proposed networks took longer than the limit when "
            "measured; the limit was tightened, and other networks were proposed"
        ]

    def without(self, others: Collection[Architecture]) -> SearchResult:
        """Return the result without these candidates."""
        new = [k for k, network in enumerate(self.architectures) if network not in others]
        return replace(
            self,
            architectures=tuple(self.architectures[k] for k in new),
            one_shot=tuple(self.one_shot[k] for k in new),
        )


def load_search_result(value: Any, plan: Plan) -> SearchResult:
    """Decode the search result of a checkpoint; refuse candidates that exceed a limit."""
    result = decode(SearchResult, value, source="the search")
    if not result.architectures or len(set(result.architectures)) < len(result.architectures):
        raise TabNASError("the search must have candidates, each of them once")
    for architecture in result.architectures:
        if not plan.allows(architecture):
            raise TabNASError(f"the candidate {architecture} is not within the limits")
    for effect in result.effects:
        plan.feasible.space.choices(effect.architecture)  # raises if it is not in the space
    return result


def find_candidates(
    run: RunContext, on_progress: ProgressCallback, checkpoint: StepCheckpoint
) -> SearchResult:
    """Search and propose candidates, or return those in the checkpoint."""
    if "search" in checkpoint:
        with reject_malformed():
            return load_search_result(checkpoint.result("search"), run.plan)
    search, recorder = run_search(run, on_progress, checkpoint)
    with save_when_infeasible(checkpoint):
        result = propose_candidates(search, run, recorder, on_progress)
    checkpoint.record("search", result)
    if run.plan.latency is not None:
        checkpoint.save()  # a resumed run must not measure again and decide otherwise
    return result


@contextmanager
def save_when_infeasible(checkpoint: StepCheckpoint) -> Iterator[None]:
    """Save the finished search if the block finds that no network is fast enough."""
    try:
        yield
    except InfeasibleError:
        checkpoint.save()
        raise


def run_search(
    run: RunContext, on_progress: ProgressCallback, checkpoint: StepCheckpoint
) -> tuple[Search, SnapshotRecorder]:
    """Run Algorithm 1 from its start, or from the state in the checkpoint."""
    data, plan = run.data, run.plan
    search = Search(
        plan.feasible,
        data.train.examples,
        data.validation.examples,
        plan.search,
        engine=plan.engine,
    )
    recorded = RecordedSearch(search)
    checkpoint.start_or_restore("search", recorded)
    try:
        search.run(
            make_search_callback(search, recorded.recorder, on_progress, checkpoint.save_if_due)
        )
    except SearchDivergedError as error:
        raise TabNASError(f"{error}; {data.describe_largest_value()}") from None
    return search, recorded.recorder


def propose_candidates(
    search: PolicySearch, run: RunContext, recorder: SnapshotRecorder, on_progress: ProgressCallback
) -> SearchResult:
    """Return the candidates of a finished search within the limits of a run."""
    data, plan = run.data, run.plan
    filtered = filter_by_latency(plan, data, partial(select_candidates, search, plan), on_progress)
    one_shot = compute_one_shot_losses(search, filtered.architectures)
    if not np.isfinite(one_shot).any():
        raise TabNASError(
            "the search has diverged: no candidate has a finite loss on the validation rows; "
            f"scale the columns or drop the extreme ones: {data.describe_largest_value()}"
        )
    return SearchResult(
        filtered.architectures,
        tuple(one_shot.tolist()),
        tuple(estimate_limit_effects(search)),
        tuple(recorder.snapshots),
        search.history.skipped,
        filtered.dropped,
    )
