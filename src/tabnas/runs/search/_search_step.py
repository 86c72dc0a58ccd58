"""The search of a run: Algorithm 1, and the candidates that come of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.errors import InfeasibleError, TabNASError, check_int
from tabnas.feasible import FeasibleSet
from tabnas.runs._extremes import most_extreme
from tabnas.runs._progress import Observer, watching
from tabnas.runs.checkpoints._recall import recalled
from tabnas.runs.checkpoints._run_checkpoint import Entries, believed
from tabnas.runs.plan._latency_check import kept_proposals
from tabnas.runs.search._limit_effect import LimitEffect, limit_effects
from tabnas.runs.search._proposals import proposals
from tabnas.runs.search._trace import Snapshot, Trace, TracedSearch
from tabnas.search import PolicySearch, Search, SearchDivergedError, compute_one_shot_losses
from tabnas.space import Architecture

if TYPE_CHECKING:
    from tabnas.runs._pipeline import PlannedRun


@dataclass(frozen=True)
class Found:
    """What the search gave."""

    architectures: tuple[Architecture, ...]
    one_shot: tuple[float, ...]
    effects: tuple[LimitEffect, ...]
    snapshots: tuple[Snapshot, ...]
    skipped: int  # weight steps that could not be taken
    dropped: tuple[Architecture, ...]  # candidates that took too long when measured

    @property
    def notes(self) -> list[str]:
        """What people should know."""
        if not self.dropped:
            return []
        return [
            f"{len(self.dropped)} of the networks that were proposed took longer than the limit "
            "when measured; the limit was tightened, and others were picked"
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "architectures": [str(one) for one in self.architectures],
            "one_shot": list(self.one_shot),
            "effects": [asdict(e) | {"architecture": str(e.architecture)} for e in self.effects],
            "snapshots": [snapshot.to_dict() for snapshot in self.snapshots],
            "skipped": self.skipped,
            "dropped": [str(one) for one in self.dropped],
        }

    def without(self, known: Collection[Architecture]) -> Found:
        """What was found and is not known already."""
        new = [k for k, one in enumerate(self.architectures) if one not in known]
        return replace(
            self,
            architectures=tuple(self.architectures[k] for k in new),
            one_shot=tuple(self.one_shot[k] for k in new),
        )

    @classmethod
    def of(cls, facts: dict[str, Any], feasible: FeasibleSet) -> Found:
        """From a checkpoint, which may not bring in what the search could not have found."""
        parse = Architecture.parse
        architectures = tuple(map(parse, facts["architectures"]))
        one_shot = tuple(map(float, facts["one_shot"]))
        effects = []
        for said in facts["effects"]:
            others = {name: value for name, value in said.items() if name != "architecture"}
            one = parse(said["architecture"])
            effects.append(recalled(LimitEffect, others, architecture=one))
        distinct = set(architectures)
        if not distinct or not len(distinct) == len(architectures) == len(one_shot):
            raise TabNASError("there must be candidates, each once and with a loss")
        for one in architectures:
            if one not in feasible:
                raise TabNASError(f"the candidate {one} is not within the limits")
        for effect in effects:
            feasible.space.choices(effect.architecture)  # refuses what is not in the space
        snapshots = tuple(recalled(Snapshot, snapshot) for snapshot in facts["snapshots"])
        skipped = check_int("skipped", facts["skipped"], minimum=0)
        dropped = tuple(map(parse, facts["dropped"]))
        return cls(architectures, one_shot, tuple(effects), snapshots, skipped, dropped)


def searched(run: PlannedRun, tell: Observer, ledger: Entries) -> Found:
    """Algorithm 1, and the candidates that come of it."""
    if "search" in ledger:
        with believed():
            return Found.of(ledger.facts("search"), run.plan.feasible)
    search, trace = run_search(run, tell, ledger)
    with kept_when_refused(ledger):
        found = found_by(search, run, trace, tell)
    ledger.enter("search", found.to_dict())
    if run.plan.latency is not None:
        ledger.save()  # nobody who goes on measures it again and decides otherwise
    return found


@contextmanager
def kept_when_refused(ledger: Entries) -> Iterator[None]:
    """Around what may find no network to be fast enough: the finished search is not lost."""
    try:
        yield
    except InfeasibleError:
        ledger.save()
        raise


def run_search(run: PlannedRun, tell: Observer, ledger: Entries) -> tuple[Search, Trace]:
    """Algorithm 1, from where an earlier process has left it."""
    parts, plan = run.parts, run.plan
    search = Search(
        plan.feasible,
        parts.train.examples,
        parts.validation.examples,
        plan.search,
        engine=plan.engine,
    )
    traced = TracedSearch(search)
    ledger.begin("search", traced)
    try:
        search.run(watching(search, traced.trace, tell, ledger.tick))
    except SearchDivergedError as error:
        raise TabNASError(f"{error}; {most_extreme(parts)}") from None
    return search, traced.trace


def found_by(search: PolicySearch, run: PlannedRun, trace: Trace, tell: Observer) -> Found:
    """The candidates that a policy proposes for the limits of a run."""
    parts, plan = run.parts, run.plan
    kept = kept_proposals(plan, parts, partial(proposals, search, plan), tell)
    one_shot = compute_one_shot_losses(search, kept.architectures)
    if not np.isfinite(one_shot).any():
        raise TabNASError(
            "the search has diverged: no candidate has a finite loss on the validation rows; "
            f"scale the columns or leave the extreme ones out: {most_extreme(parts)}"
        )
    return Found(
        kept.architectures,
        tuple(one_shot.tolist()),
        tuple(limit_effects(search)),
        tuple(trace.snapshots),
        search.history.skipped,
        kept.dropped,
    )
