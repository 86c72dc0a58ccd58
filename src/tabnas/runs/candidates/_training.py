"""Candidates trained alone, and the choice among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget
from tabnas.model import Metric, Model, doubtful_surprise, fit_temperature, primary_loss
from tabnas.nets import (
    Examples,
    NonFiniteLossError,
    SuperNet,
    Trainer,
    TrainingResult,
    TrainingRows,
    TrainingSettings,
)
from tabnas.runs._progress import telling
from tabnas.runs._recipe import Recipe
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._encoded_rows import Part
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.space import Architecture
from tabnas.states import read_counts, read_floats, subtree
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

Weights = Mapping[str, NDArray[np.float32]]
Tick = Callable[[], None]
Observe = Callable[[float], None]
"""Told how much of one candidate's work is done, from 0 to 1."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """An architecture trained alone, once or once a fold."""

    architecture: Architecture
    loss: float  # by the metric, to be minimised; infinite if training diverged
    stop_after: int  # the epoch after which training did best
    temperature: float  # by which its outputs are to be divided; 1 for quantities
    seconds: float
    weights: Weights | None  # None where folds were trained, each on some of the rows

    @classmethod
    def diverged(cls, architecture: Architecture) -> Candidate:
        """One that has no weights worth keeping, and is worse than any other."""
        return cls(
            architecture=architecture,
            loss=inf,
            stop_after=1,
            temperature=1.0,
            seconds=0.0,
            weights=None,
        )


class Trial(ABC):
    """The training and judging of one candidate, which can be stopped and gone on with."""

    def __init__(
        self, architecture: Architecture, parts: Parts, plan: Recipe, metric: Metric
    ) -> None:
        self.architecture = architecture
        self.parts = parts
        self.plan = plan
        self.metric = metric

    @abstractmethod
    def run(self, observe: Observe = lambda done: None, tick: Tick = lambda: None) -> Candidate:
        """Train to the end, from where it stands; `tick` is called before every step.

        Raises a `NonFiniteLossError` if the training diverges.
        """

    def _temperature(self, outputs: NDArray[np.float32], rows: Part) -> float:
        """The temperature that suits the outputs for some rows; 1 for quantities."""
        if not isinstance(self.parts.target, ClassTarget):
            return 1.0
        # by what training weighs, classes included: it is that network that is calibrated
        return fit_temperature(outputs, rows.truth, rows.training_weight)

    def _loss(self, outputs: NDArray[np.float32], rows: Part) -> float:
        """The loss of calibrated outputs on rows held out, by the metric."""
        prediction = self.parts.target_prediction(outputs)
        return primary_loss(self.metric, self.parts.target, rows.truth, prediction, rows.weight)

    @abstractmethod
    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        """All that shapes the future, as plain arrays."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where a trial of the same candidate stood."""


def trial_of(architecture: Architecture, parts: Parts, plan: Recipe, metric: Metric) -> Trial:
    """In folds if the plan has some, else on the validation part."""
    kind = FoldsTrial if plan.folds else AloneTrial
    return kind(architecture, parts, plan, metric)


class AloneTrial(Trial):
    """Trained on the training part, judged on the validation part."""

    def __init__(
        self, architecture: Architecture, parts: Parts, plan: Recipe, metric: Metric
    ) -> None:
        super().__init__(architecture, parts, plan, metric)
        training, validation = parts.train.examples, parts.validation.examples
        self._trainer = _trainer(architecture, training, plan, plan.training, validation)

    def run(self, observe: Observe = lambda done: None, tick: Tick = lambda: None) -> Candidate:
        began = perf_counter()
        result = self._trainer.run(on_step=telling(self._trainer, observe, tick))
        observe(1.0)
        outputs = self._trainer.net.logits(self.architecture, self.parts.validation.examples)
        temperature = self._temperature(outputs, self.parts.validation)
        return Candidate(
            architecture=self.architecture,
            loss=self._loss(outputs / np.float32(temperature), self.parts.validation),
            stop_after=result.best_epoch,
            temperature=temperature,
            seconds=perf_counter() - began,
            weights=self._trainer.net.weights(),
        )

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        return self._trainer.state_dict()

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._trainer.load_state_dict(state)


class FoldsTrial(Trial):
    """Cross-validated on the rows of training and validation together.

    The final network stops after the epoch with the lowest loss over all rows that were held out.
    Rows that have chosen an epoch and a temperature make them look better than they are, so the
    rows of each fold are judged with what the rows of all other folds choose.
    """

    def __init__(
        self, architecture: Architecture, parts: Parts, plan: Recipe, metric: Metric
    ) -> None:
        super().__init__(architecture, parts, plan, metric)
        self._folds = list(folds(parts, plan))
        shape = (plan.training.epochs, len(parts.development), parts.task.outputs)
        self._outputs = np.zeros(shape, np.float32)  # of the rows that were held out
        self._begin(0)

    def _begin(self, fold: int) -> None:
        self._fold = fold
        inside, outside = self._folds[fold]
        self._held_out = self.parts.development.take(outside).examples
        training = self.parts.development.take(inside).examples
        self._trainer = _trainer(self.architecture, training, self.plan, self.plan.training)

    def run(self, observe: Observe = lambda done: None, tick: Tick = lambda: None) -> Candidate:
        began, epochs = perf_counter(), self.plan.training.epochs

        def note(result: TrainingResult) -> None:
            logits = self._trainer.net.logits(self.architecture, self._held_out)
            self._outputs[result.epochs - 1, self._folds[self._fold][1]] = logits
            observe((self._fold + result.epochs / epochs) / len(self._folds))

        while True:
            self._trainer.run(note, tick)
            if self._fold + 1 == len(self._folds):
                break
            self._begin(self._fold + 1)
        errors = np.stack([self._errors(epoch) for epoch in range(epochs)])
        everything = np.arange(len(self.parts.development))
        stop_after, temperature = self._choose(errors, everything)
        judged = np.empty_like(self._outputs[0])
        for inside, outside in self._folds:
            own_epoch, own_temperature = self._choose(errors, inside)
            judged[outside] = self._outputs[own_epoch - 1, outside] / np.float32(own_temperature)
        return Candidate(
            architecture=self.architecture,
            loss=self._loss(judged, self.parts.development),  # at once: a fold may lack a class
            stop_after=stop_after,
            temperature=temperature,
            seconds=perf_counter() - began,
            weights=None,
        )

    def _choose(self, errors: FloatArray, rows: IntArray) -> tuple[int, float]:
        """The epoch, from 1, and the temperature that suit some of the rows held out best."""
        known = self.parts.development.take(rows)
        losses = np.average(errors[:, rows], axis=1, weights=known.training_weight)
        best = int(np.argmin(losses))
        if not np.isfinite(losses[best]):
            raise NonFiniteLossError(
                self._trainer.step, inf, self.plan.training.schedule.learning_rate
            )
        return best + 1, self._temperature(self._outputs[best, rows], known)

    def _errors(self, epoch: int) -> FloatArray:
        """What training minimises, for each row held out: smoother than what people choose by."""
        rows, outputs = self.parts.development, self._outputs[epoch]
        if not np.isfinite(outputs).all():
            return np.full(len(rows), inf)
        if isinstance(self.parts.target, ClassTarget):
            return doubtful_surprise(self.parts.target_prediction(outputs), rows.truth)
        errors = (outputs[:, 0].astype(np.float64) - rows.examples.values[:, 0]) ** 2
        return np.asarray(errors)

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        trainer = {f"trainer/{name}": value for name, value in self._trainer.state_dict().items()}
        return trainer | {"fold": np.array(self._fold), "outputs": self._outputs}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._begin(int(read_counts(state, "fold", maximum=len(self._folds) - 1)))
        self._outputs = read_floats(
            state, "outputs", self._outputs.shape, finite=False, dtype=np.float32
        )
        self._trainer.load_state_dict(subtree(state, "trainer"))


def folds(parts: Parts, plan: Recipe) -> Iterator[tuple[IntArray, IntArray]]:
    """Row numbers inside and outside each fold; classes are dealt out evenly."""
    whole = parts.development
    rng = stream(plan.training.seed, "folds")
    order = rng.permutation(len(whole))
    if isinstance(parts.target, ClassTarget):
        order = order[np.argsort(whole.truth[order], kind="stable")]
    fold = np.empty(len(whole), np.int64)
    if parts.groups is None:
        fold[order] = np.arange(len(whole)) % plan.folds
    else:
        fold = _folds_of_groups(parts.groups, plan.folds, rng)
    for k in range(plan.folds):
        yield np.nonzero(fold != k)[0], np.nonzero(fold == k)[0]


def _folds_of_groups(groups: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """The fold of each row: whole groups, the largest first, each to the fold with fewest rows."""
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    fold = np.empty(len(sizes), np.int64)
    filled = np.zeros(count, np.int64)
    shuffled = rng.permutation(len(sizes))
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[group] = filled.argmin()
        filled[fold[group]] += sizes[group]
    return np.asarray(fold[numbers])


def final_trainer(candidate: Candidate, rows: TrainingRows, plan: Recipe) -> Trainer:
    """A training on all rows given that stops where the candidate did best."""
    training = replace(plan.training, stop_after=candidate.stop_after)
    return _trainer(candidate.architecture, rows, plan, training)


def finished(weights: Weights, architecture: Architecture, parts: Parts, plan: Plan) -> Model:
    """The network with its encoder; a model over a limit cannot be made."""
    limits = {limit.cost.name: limit.upper for limit in plan.feasible.budget.limits}
    return Model(
        encoder=parts.encoder,
        target=parts.target,
        architecture=architecture,
        dimensions=parts.dimensions,
        weights=weights,
        limits=limits,
    )


def predicted(net: SuperNet, architecture: Architecture, parts: Parts, part: Part) -> FloatArray:
    """Probabilities, or values in the target's own units."""
    return parts.target_prediction(net.logits(architecture, part.examples))


def _trainer(
    architecture: Architecture,
    rows: TrainingRows,
    plan: Recipe,
    training: TrainingSettings,
    validation: Examples | None = None,
) -> Trainer:
    net = SuperNet.standalone(
        architecture,
        rows.task,
        optimizer=plan.optimizer,
        seed=training.seed,
        engine=plan.engine,
    )
    return Trainer(net, architecture, rows, training, validation)
