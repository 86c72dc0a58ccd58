"""From ranked candidates to the model: the last trainings, and the promise on latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.model import Model, tempered
from tabnas.nets import NonFiniteLossError
from tabnas.runs._extremes import most_extreme
from tabnas.runs._phases import timed
from tabnas.runs._progress import Observer, Progress, share_of, telling
from tabnas.runs.candidates._training import Candidate, Weights, final_trainer, finished
from tabnas.runs.checkpoints._run_checkpoint import Entries, believed
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._latency_check import Measured, Promise
from tabnas.runs.prepare._prepared_data import Learned

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
    promise = Promise(run.plan, latency)
    before = _recalled(ledger, ranked, promise)
    seen: dict[str, Measured] = dict(before)
    if latency.here and _all_broken(ranked, seen, promise):
        seen = {}  # whoever goes on after a refusal hopes for a calmer machine: all is asked again
    notes: list[str] = []
    for place, candidate in enumerate(ranked):
        name = str(candidate.architecture)
        if name not in seen or not promise.broken(seen[name]):
            made = _trained(run, ranked, place, tell, ledger, seconds)
            if name not in seen and not latency.here:
                return replace(made, notes=(*notes, _unmeasured(latency), *made.notes))
            if name not in seen:
                tell(Progress("measuring", 0.0, note=name))
                with timed(seconds, "measuring"):
                    (seen[name],) = promise.measured([made.model])
                ledger.enter(ENTRY, {one: dict(us) for one, us in {**before, **seen}.items()})
                ledger.save()  # nobody who goes on measures it again and decides otherwise
            if not promise.broken(seen[name]):
                return replace(made, measured_us=seen[name], notes=(*notes, *made.notes))
        notes.append(
            f"the candidate {name} was left out: trained and measured, its file took longer than "
            "the limit"
        )
    ledger.save()
    raise InfeasibleError(promise.refusal(list(seen.values())))


def _unmeasured(latency: LatencyPlan) -> str:
    return (
        "the latency of the model was not measured: that it keeps the limit rests on the table "
        f"of {latency.machine}, measured {latency.measured}"
    )


def _all_broken(
    ranked: Sequence[Candidate], seen: Mapping[str, Measured], promise: Promise
) -> bool:
    names = [str(one.architecture) for one in ranked]
    return all(name in seen and promise.broken(seen[name]) for name in names)


def _recalled(
    ledger: Entries, ranked: Sequence[Candidate], promise: Promise
) -> dict[str, Measured]:
    """What earlier processes have measured of finished models, by their architectures."""
    if ENTRY not in ledger:
        return {}
    with believed():
        seen = {name: dict(us) for name, us in ledger.facts(ENTRY).items()}
        if not set(seen) <= {str(one.architecture) for one in ranked}:
            raise TabNASError("what was measured must be candidates")
        for measured_us in seen.values():
            numbers = [
                isinstance(us, int | float) and not isinstance(us, bool) and 0 <= us < inf
                for us in measured_us.values()
            ]
            if not all(numbers) or set(measured_us) != set(promise.limits):
                raise TabNASError("the latency must be one that a candidate can have")
    return dict(seen)


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
    part: Learned = run.parts.development if run.plan.folds else run.parts.train
    try:
        return _trained_on("final training", part, run, chosen, place, tell, ledger)
    except NonFiniteLossError:
        # no second try at a lower rate: it would be a network that no fold has judged
        raise TabNASError(
            f"the final training of {chosen.architecture} diverged, which it did in no fold; scale "
            f"the columns or leave the extreme ones out: {most_extreme(run.parts)}"
        ) from None


def _trained_on(
    phase: Literal["final training", "refit"],
    part: Learned,
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
        trainer.run(on_step=telling(trainer, share, ledger.tick))
        share(1.0)
        ledger.enter(name, {}, trainer.net.weights())
    return ledger.arrays(name)
