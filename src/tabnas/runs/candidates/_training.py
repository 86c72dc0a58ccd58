"""The stand-alone training of one candidate: on a validation split, or cross-validated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget
from tabnas.model import Metric, fit_temperature, primary_loss, smoothed_log_loss
from tabnas.nets import (
    Examples,
    NonFiniteLossError,
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
from tabnas.space import Architecture
from tabnas.states import read_counts, read_floats, subtree
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """An architecture that was trained stand-alone, once or once a fold."""

    architecture: Architecture
    lesson: Lesson  # what it has learned from
    loss: float  # by the metric, to be minimised; infinite if the training diverged
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
            loss=inf,
            stop_after=1,
            temperature=1.0,
            seconds=0.0,
            weights=None,
        )


class CandidateTraining(ABC):
    """The training and the evaluation of one candidate; it can be stopped and resumed."""

    def __init__(
        self,
        trial: Trial,
        data: PreparedData,
        plan: TrainingPlan,
        metric: Metric,
        answers: Answers | None,
    ) -> None:
        self.trial = trial
        self.architecture = trial.architecture
        self.data = data
        self.plan = plan
        self.metric = metric
        self.answers = answers
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Make the first training, before its first step."""

    @abstractmethod
    def run(
        self,
        on_fraction: FractionCallback = lambda done: None,
        on_step: StepCallback = lambda: None,
    ) -> Candidate:
        """Train to the end from the current state; call `on_step` before every step.

        Raises a `NonFiniteLossError` if the training diverges.
        """

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

    @abstractmethod
    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        """Return the state as arrays."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state of the same candidate."""


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


class HoldoutTraining(CandidateTraining):
    """Train on the training rows, evaluate on the validation rows."""

    def _prepare(self) -> None:
        data, plan = self.data, self.plan
        training: TrainingRows = data.train.examples
        if self.answers is not None:
            training = self.answers.training_rows(data, self.trial.lesson)
        validation = data.validation.examples
        self._trainer = make_trainer(self.architecture, training, plan, plan.training, validation)

    def run(
        self,
        on_fraction: FractionCallback = lambda done: None,
        on_step: StepCallback = lambda: None,
    ) -> Candidate:
        began = perf_counter()
        result = self._trainer.run(
            on_step=make_training_callback(self._trainer, on_fraction, on_step)
        )
        on_fraction(1.0)
        outputs = self._trainer.net.logits(self.architecture, self.data.validation.examples)
        temperature = self._temperature(outputs, self.data.validation)
        return Candidate(
            architecture=self.architecture,
            lesson=self.trial.lesson,
            loss=self._loss(outputs / np.float32(temperature), self.data.validation),
            stop_after=result.best_epoch,
            temperature=temperature,
            seconds=perf_counter() - began,
            weights=self._trainer.net.weights(),
        )

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        return self._trainer.state_dict()

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._trainer.load_state_dict(state)


class CrossValidation(CandidateTraining):
    """Cross-validate on the training and validation rows together.

    The final network stops after the epoch with the lowest loss over all held-out rows. Rows that
    choose an epoch and a temperature flatter them, so each fold is evaluated with the epoch and
    temperature that the other folds choose.
    """

    def _prepare(self) -> None:
        data, plan = self.data, self.plan
        self._folds = list(split_folds(data, plan))
        shape = (plan.training.epochs, len(data.train_and_validation), data.task.outputs)
        self._outputs = np.zeros(shape, np.float32)  # of the held-out rows
        self._begin(0)

    def _begin(self, fold: int) -> None:
        self._fold = fold
        train, held_out = self._folds[fold]
        self._held_out = self.data.train_and_validation.take(held_out).examples
        training: TrainingRows = self.data.train_and_validation.take(train).examples
        if self.answers is not None:
            training = self.answers.fold_rows(self.data, self.trial.lesson, fold, train)
        self._trainer = make_trainer(self.architecture, training, self.plan, self.plan.training)

    def run(
        self,
        on_fraction: FractionCallback = lambda done: None,
        on_step: StepCallback = lambda: None,
    ) -> Candidate:
        began, epochs = perf_counter(), self.plan.training.epochs

        def on_epoch(result: TrainingResult) -> None:
            logits = self._trainer.net.logits(self.architecture, self._held_out)
            self._outputs[result.epochs - 1, self._folds[self._fold][1]] = logits
            on_fraction((self._fold + result.epochs / epochs) / len(self._folds))

        while True:
            self._trainer.run(on_epoch, on_step)
            if self._fold + 1 == len(self._folds):
                break
            self._begin(self._fold + 1)
        errors = np.stack([self._errors(epoch) for epoch in range(epochs)])
        all_rows = np.arange(len(self.data.train_and_validation))
        stop_after, temperature = self._choose(errors, all_rows)
        calibrated = np.empty_like(self._outputs[0])
        for train, held_out in self._folds:
            epoch, fold_temperature = self._choose(errors, train)
            calibrated[held_out] = self._outputs[epoch - 1, held_out] / np.float32(fold_temperature)
        return Candidate(
            architecture=self.architecture,
            lesson=self.trial.lesson,
            loss=self._loss(
                calibrated, self.data.train_and_validation
            ),  # a single fold may lack a class
            stop_after=stop_after,
            temperature=temperature,
            seconds=perf_counter() - began,
            weights=None,
        )

    def _choose(self, errors: FloatArray, rows: IntArray) -> tuple[int, float]:
        """Return the best epoch, from 1, and its temperature, by these held-out rows."""
        held_out = self.data.train_and_validation.take(rows)
        losses = np.average(errors[:, rows], axis=1, weights=held_out.training_weight)
        best = int(np.argmin(losses))
        if not np.isfinite(losses[best]):
            raise NonFiniteLossError(
                self._trainer.step, inf, self.plan.training.schedule.learning_rate
            )
        return best + 1, self._temperature(self._outputs[best, rows], held_out)

    def _errors(self, epoch: int) -> FloatArray:
        """Return the training loss of each held-out row, which is smoother than most metrics."""
        rows, outputs = self.data.train_and_validation, self._outputs[epoch]
        if not np.isfinite(outputs).all():
            return np.full(len(rows), inf)
        if isinstance(self.data.target, ClassTarget):
            return smoothed_log_loss(self.data.target_prediction(outputs), rows.y)
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
