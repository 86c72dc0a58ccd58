"""Cross-validate a candidate on the training and validation rows together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget
from tabnas.model import smoothed_log_loss
from tabnas.nets import Trainer, TrainingResult, TrainingRows
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._training import (
    CandidateTraining,
    Evaluation,
    NetworkTraining,
    StepCallback,
    make_trainer,
)
from tabnas.runs.plan._plan import TrainingPlan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._folds import assign_development_folds
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Precision
from tabnas.states import read_floats, subtree
from tabnas.types import FloatArray, IntArray


class FoldTraining(NetworkTraining):
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

    trainings: Sequence[FoldTraining]

    def _make_trainings(self) -> Sequence[FoldTraining]:
        data, plan = self.data, self.plan
        self._folds = list(split_folds(data, plan))
        return tuple(
            FoldTraining(
                partial(self._make_trainer, fold, train),
                data.train_and_validation.take(held_out),
                (plan.training.epochs, len(held_out), data.spec.outputs),
                self._precisions,
            )
            for fold, (train, held_out) in enumerate(self._folds)
        )

    def _make_trainer(self, fold: int, train: IntArray) -> Trainer:
        training: TrainingRows = self.data.train_and_validation.take(train).examples
        if self.answers is not None:
            training = self.answers.fold_rows(self.data, self.trial.distillation, fold, train)
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
        outputs = np.zeros((epochs, len(rows), self.data.spec.outputs), np.float32)
        for training, (_, held_out) in zip(self.trainings, self._folds, strict=True):
            outputs[:, held_out] = training.epoch_outputs[self._precisions.index(precision)]
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
