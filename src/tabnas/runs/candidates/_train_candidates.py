"""Every candidate of a run, trained alone, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan
from typing import TYPE_CHECKING

import numpy as np

from tabnas.errors import TabNASError
from tabnas.nets import NonFiniteLossError
from tabnas.runs._extremes import most_extreme
from tabnas.runs._progress import Observer, share_of
from tabnas.runs.candidates._training import Candidate, Observe, Tick, Trial, trial_of
from tabnas.runs.checkpoints._recall import recalled
from tabnas.runs.checkpoints._run_checkpoint import Entries, believed
from tabnas.runs.plan._plan import Plan
from tabnas.space import Architecture

if TYPE_CHECKING:
    from tabnas.runs._pipeline import PlannedRun


def tried_alone(
    run: PlannedRun, architectures: Sequence[Architecture], tell: Observer, ledger: Entries
) -> list[Candidate]:
    """Every candidate, trained alone; only the best so far keeps its weights."""
    tried: list[Candidate] = []
    best = inf
    for k, architecture in enumerate(architectures):
        name = f"candidate {k + 1}"
        known = name in ledger
        if known:
            candidate = _recalled_candidate(architecture, name, run.plan, ledger)
        else:
            trial = trial_of(architecture, run.parts, run.plan, run.metric)
            ledger.begin(name, trial)
            share = share_of("candidates", k, len(architectures), str(architecture), tell)
            candidate = outcome_of(trial, share, ledger.tick)
        if not candidate.loss < best:  # a recalled one may have been the first to be done
            candidate = replace(candidate, weights=None)
            ledger.forget_arrays(name)
        elif candidate.weights is not None:
            for earlier in range(k):
                ledger.forget_arrays(f"candidate {earlier + 1}")
                tried[earlier] = replace(tried[earlier], weights=None)
        best = min(best, candidate.loss)
        tried.append(candidate)
        if not known:
            enter_candidate(name, candidate, ledger)
    return tried


def outcome_of(
    trial: Trial, observe: Observe = lambda done: None, tick: Tick = lambda: None
) -> Candidate:
    """What becomes of a candidate, also of one that diverges."""
    try:
        return trial.run(observe, tick)
    except NonFiniteLossError:
        return Candidate.diverged(trial.architecture)


def enter_candidate(name: str, candidate: Candidate, ledger: Entries) -> None:
    """Remember a candidate, with its weights if it still has them."""
    facts = {n: getattr(candidate, n) for n in ("loss", "stop_after", "temperature", "seconds")}
    ledger.enter(name, facts, candidate.weights)


def ranked(run: PlannedRun, tried: Sequence[Candidate]) -> tuple[list[int], list[str]]:
    """Candidates by their loss, best first; those that diverged are left out, with a note."""
    order = np.argsort([candidate.loss for candidate in tried], kind="stable").tolist()
    finite = [k for k in order if tried[k].loss < inf]
    if not finite:
        raise TabNASError(
            f"the training of every candidate diverged, of {len(tried)}: there is no model to "
            f"choose; scale the columns or leave the extreme ones out: {most_extreme(run.parts)}"
        )
    diverged = [tried[k].architecture for k in order[len(finite) :]]
    return finite, [f"the candidate {one} was left out: its training diverged" for one in diverged]


def _recalled_candidate(
    architecture: Architecture, name: str, plan: Plan, ledger: Entries
) -> Candidate:
    """A candidate that an earlier process has trained."""
    weights = ledger.arrays(name) or None
    with believed():
        facts = ledger.facts(name)
        candidate = recalled(Candidate, facts, architecture=architecture, weights=weights)
        if isnan(candidate.loss) or not 0 < candidate.temperature < inf:
            raise TabNASError(f"loss and temperature of {name} must be ones that there can be")
        if not 1 <= candidate.stop_after <= plan.training.epochs:
            raise TabNASError(f"{name} must have been trained for as long as the plan says")
    return candidate
