"""Candidates trained alone, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from tabnas.data import ClassTarget
from tabnas.model import Metric, Model, default_metric, primary_loss
from tabnas.nets import Examples, SuperNet, TrainingResult, train
from tabnas.runs._parts import Part, Parts
from tabnas.runs._plan import Plan
from tabnas.space import Architecture
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """An architecture trained alone, once or once a fold."""

    architecture: Architecture
    loss: float  # by the metric, to be minimised
    stop_after: int  # the epoch after which training did best
    seconds: float
    net: SuperNet | None  # None where folds were trained, each on some of the rows


Observe = Callable[[float], None]
"""Told how much of one candidate's work is done, from 0 to 1."""


def try_candidate(
    architecture: Architecture, parts: Parts, plan: Plan, metric: Metric, observe: Observe
) -> Candidate:
    """Train it alone and judge it: in folds if the plan has some, else on the validation part."""
    tried = _try_in_folds if plan.folds else _try_alone
    return tried(architecture, parts, plan, metric, observe)


def _try_alone(
    architecture: Architecture, parts: Parts, plan: Plan, metric: Metric, observe: Observe
) -> Candidate:
    """Train on the training part, judge on the validation part."""
    began = perf_counter()
    net, result = _trained(
        architecture, parts.train.examples, parts.validation.examples, plan, observe
    )
    loss = _judged(net, architecture, parts, parts.validation, metric)
    return Candidate(
        architecture=architecture,
        loss=loss,
        stop_after=result.best_epoch,
        seconds=perf_counter() - began,
        net=net,
    )


def _try_in_folds(
    architecture: Architecture, parts: Parts, plan: Plan, metric: Metric, observe: Observe
) -> Candidate:
    """Cross-validate on the rows of training and validation together.

    All folds stop after the same epoch, the one with the lowest loss over all rows that were held
    out: with an epoch for each fold, the rows that judge it would have chosen it, too.
    """
    began = perf_counter()
    whole, epochs = parts.development, plan.training.epochs
    outputs = np.empty((epochs, len(whole), parts.task.outputs), np.float32)
    for fold, (inside, outside) in enumerate(folds(parts, plan)):
        training, held_out = whole.take(inside).examples, whole.take(outside).examples
        net = _fresh(architecture, training, plan)

        def note(result: TrainingResult) -> None:
            outputs[result.epochs - 1, outside] = net.logits(architecture, held_out)  # noqa: B023
            observe((fold + result.epochs / epochs) / plan.folds)  # noqa: B023

        train(net, architecture, training, plan.training, observe=note)

    def loss(measured: Metric, epoch: int) -> float:
        prediction = parts.target_prediction(outputs[epoch])
        return primary_loss(measured, parts.target, whole.truth, prediction, whole.weight)

    learned = default_metric(parts.target.task)  # smoother than most that people choose by
    best = int(np.argmin([loss(learned, epoch) for epoch in range(epochs)]))
    return Candidate(
        architecture=architecture,
        loss=loss(metric, best),
        stop_after=best + 1,
        seconds=perf_counter() - began,
        net=None,
    )


def folds(parts: Parts, plan: Plan) -> Iterator[tuple[IntArray, IntArray]]:
    """Row numbers inside and outside each fold; classes are dealt out evenly."""
    whole = parts.development
    rng = stream(plan.training.seed, "folds")
    order = rng.permutation(len(whole))
    if isinstance(parts.target, ClassTarget):
        order = order[np.argsort(whole.truth[order], kind="stable")]
    fold = np.empty(len(whole), np.int64)
    fold[order] = np.arange(len(whole)) % plan.folds
    for k in range(plan.folds):
        yield np.nonzero(fold != k)[0], np.nonzero(fold == k)[0]


def train_finally(
    candidate: Candidate, examples: Examples, plan: Plan, observe: Observe
) -> SuperNet:
    """Train on all rows given, stopping where the candidate did best."""
    training = replace(plan.training, stop_after=candidate.stop_after)
    net = _fresh(candidate.architecture, examples, plan)
    train(
        net,
        candidate.architecture,
        examples,
        training,
        observe=lambda result: observe(result.epochs / candidate.stop_after),
    )
    return net


def finished(net: SuperNet, architecture: Architecture, parts: Parts, plan: Plan) -> Model:
    """The network with its encoder; a model over a limit cannot be made."""
    limits = {limit.cost.name: limit.at_most for limit in plan.feasible.budget.limits}
    return Model(
        encoder=parts.encoder,
        target=parts.target,
        architecture=architecture,
        dimensions=parts.dimensions,
        weights=net.weights(),
        limits=limits,
    )


def _judged(
    net: SuperNet, architecture: Architecture, parts: Parts, part: Part, metric: Metric
) -> float:
    prediction = predicted(net, architecture, parts, part)
    return primary_loss(metric, parts.target, part.truth, prediction, part.weight)


def predicted(net: SuperNet, architecture: Architecture, parts: Parts, part: Part) -> FloatArray:
    """Probabilities, or values in the target's own units."""
    return parts.target_prediction(net.logits(architecture, part.examples))


def _trained(
    architecture: Architecture,
    training: Examples,
    validation: Examples,
    plan: Plan,
    observe: Observe,
) -> tuple[SuperNet, TrainingResult]:
    net = _fresh(architecture, training, plan)
    result = train(
        net,
        architecture,
        training,
        plan.training,
        validation,
        observe=lambda result: observe(result.epochs / plan.training.epochs),
    )
    return net, result


def _fresh(architecture: Architecture, examples: Examples, plan: Plan) -> SuperNet:
    return SuperNet.standalone(
        architecture,
        examples.task,
        optimizer=plan.optimizer,
        seed=plan.training.seed,
        engine=plan.engine,
    )
