"""The final training: from ranked candidates to a model that meets the latency limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tabnas.decoding import decode
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.latency import Microseconds
from tabnas.model import Model, apply_temperature, round_network, round_weights
from tabnas.nets import NonFiniteLossError, Trainer, TrainingRows
from tabnas.runs._context import RunContext
from tabnas.runs._job_pool import JobPool
from tabnas.runs._progress import (
    PhaseProgress,
    Progress,
    ProgressCallback,
    make_training_callback,
)
from tabnas.runs.candidates._candidate import Candidate, Weights
from tabnas.runs.candidates._training import make_trainer
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint, reject_malformed
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._latency_check import Latencies, LatencyCheck
from tabnas.runs.plan._plan import Plan, TrainingPlan
from tabnas.runs.prepare._prepared_data import PreparedData

LATENCY_STEP = "latency"
"""The step of the checkpoint that holds measured latencies of trained models."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FinalModel:
    """The trained model of a run."""

    model: Model
    index: int  # of its candidate among the ranked ones
    evaluated_weights: Weights  # that the scores are of; the model has others after a refit
    trained_on_all: bool  # whether its weights were trained on every row
    latencies_us: Latencies  # of its file; empty without latency limits, or if not measured
    notes: tuple[str, ...]


def train_final_model(
    run: RunContext,
    ranked: Sequence[Candidate],
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
    pool: JobPool,
) -> FinalModel:
    """Return the model of the best candidate that meets the latency limits when measured."""
    latency = run.plan.latency
    if latency is None:
        return _train(run, ranked, 0, on_progress, checkpoint, pool)
    check = LatencyCheck(run.plan, latency)
    names = [latency.name_candidate(one.architecture, one.precision) for one in ranked]
    recorded = _load_latencies(checkpoint, names, check)
    measured: dict[str, Latencies] = dict(recorded)

    def is_too_slow(name: str) -> bool:
        return name in measured and bool(check.violations(measured[name]))

    if latency.is_local and all(map(is_too_slow, names)):
        measured.clear()  # resumed after a failure: the machine may be less busy now
    for index, name in enumerate(names):
        if is_too_slow(name):  # measured by an earlier process, or as it was trained in another way
            continue
        final = _train(run, ranked, index, on_progress, checkpoint, pool)
        too_slow = _note_too_slow(names[:index])  # all before it, or one would be the model
        if name not in measured and not latency.is_local:
            return replace(final, notes=(*too_slow, _note_unmeasured(latency), *final.notes))
        if name not in measured:
            on_progress(Progress("measuring", 0.0, note=name))
            with pool.measure("measuring"):
                (measured[name],) = check.measure([final.model])
            checkpoint.record(LATENCY_STEP, {**recorded, **measured})
            checkpoint.save()  # a resumed run must not measure again and decide otherwise
        if not is_too_slow(name):
            return replace(final, latencies_us=measured[name], notes=(*too_slow, *final.notes))
    checkpoint.save()
    raise InfeasibleError(check.describe_failure(list(measured.values())))


def _note_too_slow(names: Sequence[str]) -> list[str]:
    """Return a note on each of these candidates, which may be the same architecture."""
    return [
        f"the candidate {name} was left out: trained and measured, its file took longer than the "
        "limit"
        for name in dict.fromkeys(names)
    ]


def _note_unmeasured(latency: LatencyPlan) -> str:
    return (
        "the latency of the model was not measured: that it meets the limit is predicted by the "
        f"table of {latency.machine}, measured {latency.measured_date}"
    )


def _load_latencies(
    checkpoint: StepCheckpoint, names: Sequence[str], check: LatencyCheck
) -> dict[str, Latencies]:
    """Return what earlier processes have measured of trained models, by the name of candidates."""
    if LATENCY_STEP not in checkpoint:
        return {}
    with reject_malformed():
        measured = decode(
            dict[str, dict[str, Microseconds]],
            checkpoint.result(LATENCY_STEP),
            source="the measured latencies",
        )
        if not set(measured) <= set(names):
            raise TabNASError("the measured latencies are not those of candidates")
        if any(set(latencies) != set(check.limits) for latencies in measured.values()):
            raise TabNASError("the measured latencies are not those of the limited costs")
    return dict(measured)


def _train(
    run: RunContext,
    ranked: Sequence[Candidate],
    index: int,
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
    pool: JobPool,
) -> FinalModel:
    """Train a candidate for the last time: for evaluation, then on all rows if wanted."""
    data, chosen, notes = run.data, ranked[index], []
    with pool.measure("final training"):
        evaluated = chosen.weights
        if evaluated is None:
            trained = _train_for_evaluation(run, chosen, index, on_progress, checkpoint)
            evaluated = round_network(trained, chosen.precision)
        evaluated = final = calibrate(evaluated, chosen)
    trained_on_all = bool(run.plan.folds) and data.test is None
    if run.settings.refit and not trained_on_all:
        with pool.measure("refit"):
            try:
                rows: TrainingRows = data.all_rows.examples
                if run.answers is not None:
                    rows = run.answers.all_rows(data, chosen.distillation)
                refitted = _train_on("refit", rows, run, chosen, index, on_progress, checkpoint)
            except NonFiniteLossError:  # the evaluated model is better than an error
                notes.append(
                    "the training on all rows diverged, and the model is the one that was "
                    f"evaluated; {data.describe_largest_value()}"
                )
            else:
                trained_on_all = True
                final = calibrate(round_network(refitted, chosen.precision), chosen)
    return FinalModel(
        model=build_model(final, chosen, data, run.plan),
        index=index,
        evaluated_weights=evaluated,
        trained_on_all=trained_on_all,
        latencies_us={},
        notes=tuple(notes),
    )


def calibrate(weights: Weights, chosen: Candidate) -> Weights:
    """Return rounded weights with the temperature of the candidate.

    It scales the output layer, which is rounded again.
    """
    return round_weights(apply_temperature(weights, chosen.temperature), chosen.precision)


def _train_for_evaluation(
    run: RunContext,
    chosen: Candidate,
    index: int,
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
) -> Weights:
    """Train on all rows of the folds; without folds, once more on the training rows."""
    try:
        rows = get_final_rows(run, chosen)
        return _train_on("final training", rows, run, chosen, index, on_progress, checkpoint)
    except NonFiniteLossError:
        # a lower learning rate would give a network that no fold has evaluated
        raise TabNASError(
            f"the final training of {chosen.architecture} diverged, unlike the folds; scale the "
            f"columns or drop the extreme ones: {run.data.describe_largest_value()}"
        ) from None


def _train_on(
    phase: Literal["final training", "refit"],
    rows: TrainingRows,
    run: RunContext,
    chosen: Candidate,
    index: int,
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
) -> Weights:
    """Return the weights of the chosen architecture, trained on these rows."""
    name = phase if index == 0 else f"{phase} {index + 1}"
    if name not in checkpoint:
        trainer = make_final_trainer(chosen, rows, run.plan)
        checkpoint.start_or_restore(name, trainer)
        progress = PhaseProgress(phase, on_progress, total=1.0)
        on_fraction = progress.add_job(str(chosen.architecture))
        on_step = make_training_callback(trainer, on_fraction, checkpoint.save_if_due)
        try:
            trainer.run(on_step=on_step)
        except NonFiniteLossError:
            checkpoint.abandon()
            raise
        on_fraction(1.0)
        checkpoint.record(name, {}, trainer.net.weights())
    return checkpoint.arrays(name)


def get_final_rows(run: RunContext, chosen: Candidate) -> TrainingRows:
    """Return the rows that a candidate's evaluated network learns from."""
    data = run.data
    if run.answers is None:
        return data.train_and_validation.examples if run.plan.folds else data.train.examples
    if run.plan.folds:
        return run.answers.development_rows(data, chosen.distillation)
    return run.answers.training_rows(data, chosen.distillation)


def make_final_trainer(candidate: Candidate, rows: TrainingRows, plan: TrainingPlan) -> Trainer:
    """Return a training on these rows that stops after the best epoch of the candidate."""
    settings = plan.get_training(is_longer=candidate.is_longer)
    training = replace(settings, stop_after=candidate.stop_after, early_stopping=None)
    return make_trainer(candidate.architecture, rows, plan, training)


def build_model(weights: Weights, chosen: Candidate, data: PreparedData, plan: Plan) -> Model:
    """Return the network with its encoder; raise an error if it exceeds a limit."""
    limits = {limit.cost.name: limit.upper for limit in plan.feasible.budget.limits}
    return Model(
        encoder=data.encoder,
        target=data.target,
        architecture=chosen.architecture,
        category_dimensions=data.category_dimensions,
        knots=data.spec.inputs.knots,
        precision=chosen.precision,
        weights=weights,
        limits=limits,
    )
