"""The stand-alone training of one candidate: on a validation split, or cross-validated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget
from tabnas.model import (
    Metric,
    fit_temperature,
    primary_loss,
    round_network,
    smoothed_log_loss,
)
from tabnas.nets import (
    Examples,
    SuperNet,
    Trainer,
    TrainingResult,
    TrainingRows,
    TrainingSettings,
)
from tabnas.runs._answers import LABELS_ONLY, Answers, Lesson
from tabnas.runs._progress import make_training_callback
from tabnas.runs.plan._plan import TrainingPlan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._folds import assign_development_folds
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture, Precision
from tabnas.states import read_floats, subtree
from tabnas.types import FloatArray, IntArray

Weights = Mapping[str, NDArray[np.float32]]
StepCallback = Callable[[], None]
FractionCallback = Callable[[float], None]
"""Receives how much of the training is done, from 0 to 1."""


@dataclass(frozen=True)
class Trial:
    """An architecture to be trained stand-alone, and what it learns from."""

    architecture: Architecture
    lesson: Lesson = LABELS_ONLY
    precisions: tuple[Precision, ...] = (Precision.FLOAT32,)  # in which it meets the limits


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """An architecture that was trained stand-alone, once or once a fold."""

    architecture: Architecture
    lesson: Lesson  # what it has learned from
    precision: Precision  # of the weights
    loss: float  # by the metric, to be minimised; infinite if the training diverged
    float32_loss: float  # before its weights were rounded to their precision
    stop_after: int  # the best epoch, from 1
    temperature: float  # that divides its outputs; 1 for regression
    seconds: float
    weights: Weights | None  # None after cross-validation, whose networks saw a part of the rows

    @classmethod
    def diverged(cls, trial: Trial) -> Candidate:
        """Return a candidate without weights whose loss is infinite."""
        return cls(
            architecture=trial.architecture,
            lesson=trial.lesson,
            precision=trial.precisions[0],
            loss=inf,
            float32_loss=inf,
            stop_after=1,
            temperature=1.0,
            seconds=0.0,
            weights=None,
        )


@dataclass(frozen=True)
class Evaluation:
    """How good a trained network is in one precision."""

    loss: float
    stop_after: int
    temperature: float


class CandidateTraining(ABC):
    """The training and the evaluation of one candidate.

    It has one or more parts, which can be trained side by side, stopped and resumed.
    """

    def __init__(
        self,
        trial: Trial,
        data: PreparedData,
        plan: TrainingPlan,
        metric: Metric,
        answers: Answers | None,
    ) -> None:
        self.trial = trial
        self.data = data
        self.plan = plan
        self.metric = metric
        self.answers = answers
        self.parts = self._make_parts()

    def run(
        self,
        on_fraction: FractionCallback = lambda done: None,
        on_step: StepCallback = lambda: None,
    ) -> Candidate:
        """Train all parts, one after the other, and evaluate; call `on_step` before every step.

        Raises a `NonFiniteLossError` if the training diverges.
        """
        for number, part in enumerate(self.parts):
            done = partial(_scale_fraction, on_fraction, number, len(self.parts))
            part.run(done, on_step)
        return self.evaluate()

    @abstractmethod
    def _make_parts(self) -> Sequence[TrainingPart]:
        """Return the parts, before their first step."""

    @abstractmethod
    def evaluate(self) -> Candidate:
        """Return the candidate, once all parts are trained."""

    def _make_candidate(
        self, evaluations: Mapping[Precision, Evaluation], weights: Weights | None
    ) -> Candidate:
        """Return the candidate in the best of the precisions in which it meets the limits."""
        precision = min(self.trial.precisions, key=lambda precision: evaluations[precision].loss)
        best = evaluations[precision]
        return Candidate(
            architecture=self.trial.architecture,
            lesson=self.trial.lesson,
            precision=precision,
            loss=best.loss,
            float32_loss=evaluations[Precision.FLOAT32].loss,
            stop_after=best.stop_after,
            temperature=best.temperature,
            seconds=sum(part.seconds for part in self.parts),
            weights=None if weights is None else round_network(weights, precision),
        )

    @property
    def _precisions(self) -> tuple[Precision, ...]:
        """The precisions to evaluate: float32, and those of the trial."""
        return tuple(dict.fromkeys((Precision.FLOAT32, *self.trial.precisions)))

    def _temperature(self, outputs: NDArray[np.float32], rows: EncodedRows) -> float:
        """Return the temperature that calibrates the outputs; 1 for regression."""
        if not isinstance(self.data.target, ClassTarget):
            return 1.0
        # weighted as in training, classes included: that is what the network has learned
        return fit_temperature(outputs, rows.y, rows.training_weight)

    def _loss(self, outputs: NDArray[np.float32], rows: EncodedRows) -> float:
        """Return the loss of calibrated outputs, by the metric."""
        prediction = self.data.target_prediction(outputs)
        return primary_loss(self.metric, self.data.target, rows.y, prediction, rows.weight)


def _scale_fraction(on_fraction: FractionCallback, part: int, parts: int, done: float) -> None:
    on_fraction((part + done) / parts)


def make_candidate_training(
    trial: Trial,
    data: PreparedData,
    plan: TrainingPlan,
    metric: Metric,
    answers: Answers | None = None,
) -> CandidateTraining:
    """Return a cross-validation if the plan has folds, else a training with validation rows."""
    kind = CrossValidation if plan.folds else HoldoutTraining
    return kind(trial, data, plan, metric, answers)


class TrainingPart:
    """One training of a candidate, and the outputs of its network that are evaluated."""

    def __init__(self, make_trainer: Callable[[], Trainer], evaluated: EncodedRows) -> None:
        self._make_trainer = make_trainer
        self._evaluated = evaluated
        self._trainer: Trainer | None = None
        self._rounded_net: SuperNet | None = None  # to evaluate rounded weights
        self.seconds = 0.0

    @property
    def trainer(self) -> Trainer:
        """The training; it is made when it is needed first, since it takes memory."""
        if self._trainer is None:
            self._trainer = self._make_trainer()
        return self._trainer

    def run(self, on_fraction: FractionCallback, on_step: StepCallback) -> None:
        """Train to the end, from the current state."""
        began = perf_counter()
        self._train(make_training_callback(self.trainer, on_fraction, on_step))
        on_fraction(1.0)
        self.seconds += perf_counter() - began

    def _train(self, on_step: StepCallback) -> None:
        self.trainer.run(on_step=on_step)

    def outputs(self, precision: Precision = Precision.FLOAT32) -> NDArray[np.float32]:
        """Return the outputs of the network for the evaluated rows, with rounded weights."""
        net, child = self.trainer.net, self.trainer.child
        if precision != Precision.FLOAT32:
            weights = round_network(net.weights(), precision)
            if self._rounded_net is None:
                self._rounded_net = net.with_weights(weights)
            else:
                self._rounded_net.load_weights(weights)
            net = self._rounded_net
        return net.logits(child, self._evaluated.examples)

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        """Return the state as arrays."""
        return self.trainer.state_dict()

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state of the same part."""
        self.trainer.load_state_dict(state)


class HoldoutTraining(CandidateTraining):
    """Train on the training rows, evaluate on the validation rows."""

    def _make_parts(self) -> Sequence[TrainingPart]:
        return (TrainingPart(self._make_trainer, self.data.validation),)

    def _make_trainer(self) -> Trainer:
        data, plan = self.data, self.plan
        training: TrainingRows = data.train.examples
        if self.answers is not None:
            training = self.answers.training_rows(data, self.trial.lesson)
        validation = data.validation.examples
        return make_trainer(self.trial.architecture, training, plan, plan.training, validation)

    def evaluate(self) -> Candidate:
        (part,), rows = self.parts, self.data.validation

        def evaluate_rounded(precision: Precision) -> Evaluation:
            outputs = part.outputs(precision)
            temperature = self._temperature(outputs, rows)
            loss = self._loss(outputs / np.float32(temperature), rows)
            return Evaluation(loss, part.trainer.result.best_epoch, temperature)

        evaluations = {precision: evaluate_rounded(precision) for precision in self._precisions}
        return self._make_candidate(evaluations, part.trainer.net.weights())


class FoldTraining(TrainingPart):
    """The training without one fold, and the outputs for its rows after every epoch."""

    def __init__(
        self,
        make_trainer: Callable[[], Trainer],
        held_out: EncodedRows,
        shape: tuple[int, ...],
        precisions: Sequence[Precision],
    ) -> None:
        super().__init__(make_trainer, held_out)
        self._precisions = precisions
        # [precisions, epochs, rows, outputs]
        self.epoch_outputs = np.zeros((len(precisions), *shape), np.float32)

    def _train(self, on_step: StepCallback) -> None:
        def on_epoch(result: TrainingResult) -> None:
            for k, precision in enumerate(self._precisions):
                self.epoch_outputs[k, result.epochs - 1] = self.outputs(precision)

        self.trainer.run(on_epoch, on_step)
        # its network saw a part of the rows, and nothing needs it any more
        self._trainer = self._rounded_net = None

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        trainer = {f"trainer/{name}": value for name, value in super().state_dict().items()}
        return trainer | {"outputs": self.epoch_outputs.copy()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.load_outputs(state)
        super().load_state_dict(subtree(state, "trainer"))

    def load_outputs(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the outputs of a training."""
        self.epoch_outputs = read_floats(
            arrays, "outputs", self.epoch_outputs.shape, finite=False, dtype=np.float32
        )


class CrossValidation(CandidateTraining):
    """Cross-validate on the training and validation rows together.

    The final network stops after the epoch with the lowest loss over all held-out rows. Rows that
    choose an epoch and a temperature flatter them, so each fold is evaluated with the epoch and
    temperature that the other folds choose.
    """

    parts: Sequence[FoldTraining]

    def _make_parts(self) -> Sequence[FoldTraining]:
        data, plan = self.data, self.plan
        self._folds = list(split_folds(data, plan))
        return tuple(
            FoldTraining(
                partial(self._make_trainer, fold, train),
                data.train_and_validation.take(held_out),
                (plan.training.epochs, len(held_out), data.task.outputs),
                self._precisions,
            )
            for fold, (train, held_out) in enumerate(self._folds)
        )

    def _make_trainer(self, fold: int, train: IntArray) -> Trainer:
        training: TrainingRows = self.data.train_and_validation.take(train).examples
        if self.answers is not None:
            training = self.answers.fold_rows(self.data, self.trial.lesson, fold, train)
        return make_trainer(self.trial.architecture, training, self.plan, self.plan.training)

    def evaluate(self) -> Candidate:
        evaluations = {
            precision: self._evaluate_outputs(self.held_out_outputs(precision))
            for precision in self._precisions
        }
        candidate = self._make_candidate(evaluations, None)
        return candidate if candidate.loss < inf else Candidate.diverged(self.trial)

    def held_out_outputs(self, precision: Precision) -> NDArray[np.float32]:
        """Return the outputs for every row when it was held out: [epochs, rows, outputs]."""
        rows, epochs = self.data.train_and_validation, self.plan.training.epochs
        outputs = np.zeros((epochs, len(rows), self.data.task.outputs), np.float32)
        for part, (_, held_out) in zip(self.parts, self._folds, strict=True):
            outputs[:, held_out] = part.epoch_outputs[self._precisions.index(precision)]
        return outputs

    def _evaluate_outputs(self, outputs: NDArray[np.float32]) -> Evaluation:
        """Evaluate the outputs of all held-out rows after every epoch."""
        rows = self.data.train_and_validation
        errors = np.stack([self._errors(of_epoch) for of_epoch in outputs])
        if not np.isfinite(errors).any():
            return Evaluation(inf, 1, 1.0)
        stop_after, temperature = self._choose(outputs, errors, np.arange(len(rows)))
        calibrated = np.empty_like(outputs[0])
        for train, held_out in self._folds:
            epoch, fold_temperature = self._choose(outputs, errors, train)
            calibrated[held_out] = outputs[epoch - 1, held_out] / np.float32(fold_temperature)
        loss = self._loss(calibrated, rows)  # of all rows: a single fold may lack a class
        return Evaluation(loss, stop_after, temperature)

    def _choose(
        self, outputs: NDArray[np.float32], errors: FloatArray, rows: IntArray
    ) -> tuple[int, float]:
        """Return the best epoch, from 1, and its temperature, by these held-out rows."""
        held_out = self.data.train_and_validation.take(rows)
        losses = np.average(errors[:, rows], axis=1, weights=held_out.training_weight)
        best = int(np.argmin(losses))
        return best + 1, self._temperature(outputs[best, rows], held_out)

    def _errors(self, outputs: NDArray[np.float32]) -> FloatArray:
        """Return the training loss of each held-out row, which is smoother than most metrics."""
        rows = self.data.train_and_validation
        if not np.isfinite(outputs).all():
            return np.full(len(rows), inf)
        if isinstance(self.data.target, ClassTarget):
            return smoothed_log_loss(self.data.target_prediction(outputs), rows.y)
        errors = (outputs[:, 0].astype(np.float64) - rows.examples.values[:, 0]) ** 2
        return np.asarray(errors)


def split_folds(data: PreparedData, plan: TrainingPlan) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the training rows and the held-out rows of each fold; classes are spread evenly."""
    folds = assign_development_folds(data, plan.folds, plan.training.seed)
    for k in range(plan.folds):
        yield np.nonzero(folds != k)[0], np.nonzero(folds == k)[0]


def make_trainer(
    architecture: Architecture,
    rows: TrainingRows,
    plan: TrainingPlan,
    training: TrainingSettings,
    validation: Examples | None = None,
) -> Trainer:
    """Return the stand-alone training of an architecture, before its first step."""
    net = SuperNet.standalone(
        architecture,
        rows.task,
        optimizer=plan.optimizer,
        seed=training.seed,
        engine=plan.engine,
    )
    return Trainer(net, architecture, rows, training, validation)
