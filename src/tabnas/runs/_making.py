"""From ranked candidates to the model: the last trainings, and the promise on latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal

from tabnas.errors import InfeasibleError, TabnasError
from tabnas.model import Model, tempered
from tabnas.nets import NonFiniteLossError
from tabnas.runs._candidates import Candidate, Weights, final_trainer, finished
from tabnas.runs._extremes import most_extreme
from tabnas.runs._ledger import Entries, believed
from tabnas.runs._parts import Part
from tabnas.runs._phases import timed
from tabnas.runs._progress import Observer, Progress, share_of
from tabnas.runs._promise import Measured, Promise

if TYPE_CHECKING:
    from tabnas.runs._pipeline import PlannedRun

ENTRY = "latency"


@dataclass(frozen=True, eq=False, kw_only=True)
class Made:
    """A finished model."""

    model: Model
    place: int  # of its candidate among the ranked ones
    judged: Weights  # that scores are of; the model has others after a refit
    trained_on_all: bool  # whether its weights have seen every row
    measured_us: Measured  # of its own file; nothing where there is no limit, or no measuring
    notes: tuple[str, ...]


def make_model(
    run: PlannedRun,
    ranked: Sequence[Candidate],
    tell: Observer,
    ledger: Entries,
    seconds: dict[str, float],
) -> Made:
    """The model of the best candidate whose own file keeps the limits on latency when measured."""
    latency = run.plan.latency
    if latency is None:
        return _trained(run, ranked, 0, tell, ledger, seconds)
    if not latency.here:
        made = _trained(run, ranked, 0, tell, ledger, seconds)
        rests = (
            "the latency of the model was not measured: that it keeps the limit rests on the table "
            f"of {latency.machine}, measured {latency.measured}"
        )
        return replace(made, notes=(rests, *made.notes))
    promise = Promise(run.plan, latency)
    kept = _recalled(ledger, ranked, promise)
    notes: list[str] = []
    seen: list[Measured] = []
    for place, candidate in enumerate(ranked):
        if kept is None or kept.architecture == str(candidate.architecture):
            made = _trained(run, ranked, place, tell, ledger, seconds)
            if kept is None:
                tell(Progress("measuring", 0.0, note=str(candidate.architecture)))
                with timed(seconds, "measuring"):
                    seen += promise.measured([made.model])
            measured_us = seen[-1] if kept is None else kept.measured_us
            if not promise.broken(measured_us):
                facts = KeptPromise(str(candidate.architecture), dict(measured_us))
                ledger.enter(ENTRY, asdict(facts))
                return replace(made, measured_us=measured_us, notes=(*notes, *made.notes))
        notes.append(
            f"the candidate {candidate.architecture} was left out: trained and measured, its file "
            "took longer than the limit"
        )
    ledger.save()
    raise InfeasibleError(promise.refusal(seen))


@dataclass(frozen=True)
class KeptPromise:
    """Which candidate has kept its promise."""

    architecture: str
    measured_us: dict[str, float]


def _recalled(ledger: Entries, ranked: Sequence[Candidate], promise: Promise) -> KeptPromise | None:
    """What an earlier process has measured, so that nothing is measured twice."""
    if ENTRY not in ledger:
        return None
    with believed():
        facts = ledger.facts(ENTRY)
        kept = KeptPromise(facts["architecture"], dict(facts["measured_us"]))
        known = kept.architecture in {str(one.architecture) for one in ranked}
        numbers = kept.measured_us.values()
        right = all(isinstance(us, int | float) and 0 <= us < inf for us in numbers)
        if not known or not right or set(kept.measured_us) != set(promise.limits):
            raise TabnasError("the latency must be one that a candidate can have")
        if promise.broken(kept.measured_us):
            raise TabnasError("the latency of the model must keep the limit")
    return kept


def _trained(
    run: PlannedRun,
    ranked: Sequence[Candidate],
    place: int,
    tell: Observer,
    ledger: Entries,
    seconds: dict[str, float],
) -> Made:
    """The last trainings of a candidate: what is judged, and what has seen all rows, if wanted."""
    parts, chosen, notes = run.parts, ranked[place], []
    with timed(seconds, "final training"):
        judged = chosen.weights
        if judged is None:
            judged = _trained_for_judging(run, chosen, place, tell, ledger)
        judged = final = tempered(judged, chosen.temperature)
    on_all = bool(run.plan.folds) and parts.test is None
    if run.settings.refit and not on_all:
        with timed(seconds, "refit"):
            try:
                refitted = _trained_on("refit", parts.everything, run, chosen, place, tell, ledger)
            except NonFiniteLossError:  # what is judged is at hand, and worth more than an error
                notes.append(
                    "the training on all rows diverged, and the model is the one that was judged; "
                    f"{most_extreme(parts)}"
                )
            else:
                on_all = True
                final = tempered(refitted, chosen.temperature)
    return Made(
        model=finished(final, chosen.architecture, parts, run.plan),
        place=place,
        judged=judged,
        trained_on_all=on_all,
        measured_us={},
        notes=tuple(notes),
    )


def _trained_for_judging(
    run: PlannedRun, chosen: Candidate, place: int, tell: Observer, ledger: Entries
) -> Weights:
    """The network of the folds, on all of their rows; without folds, what was let go, once more."""
    part = run.parts.development if run.plan.folds else run.parts.train
    try:
        return _trained_on("final training", part, run, chosen, place, tell, ledger)
    except NonFiniteLossError:
        # no second try at a lower rate: it would be a network that no fold has judged
        raise TabnasError(
            f"the final training of {chosen.architecture} diverged, which it did in no fold; scale "
            f"the columns or leave the extreme ones out: {most_extreme(run.parts)}"
        ) from None


def _trained_on(
    phase: Literal["final training", "refit"],
    part: Part,
    run: PlannedRun,
    chosen: Candidate,
    place: int,
    tell: Observer,
    ledger: Entries,
) -> Weights:
    """The weights of the chosen architecture, trained on these rows."""
    name = phase if place == 0 else f"{phase} {place + 1}"
    if name not in ledger:
        trainer = final_trainer(chosen, part.examples, run.plan)
        ledger.begin(name, trainer)
        share = share_of(phase, 0, 1, str(chosen.architecture), tell)
        trainer.run(lambda result: share(result.epochs / chosen.stop_after), ledger.tick)
        ledger.enter(name, {}, trainer.net.weights())
    return ledger.arrays(name)
