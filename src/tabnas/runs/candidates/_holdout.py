"""Train a candidate on the training rows, and evaluate it on the validation rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabnas.nets import Trainer, TrainingRows
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._training import (
    CandidateTraining,
    Evaluation,
    NetworkTraining,
    make_trainer,
)
from tabnas.space import Precision


class HoldoutTraining(CandidateTraining):
    """Train on the training rows, evaluate on the validation rows."""

    def _make_trainings(self) -> Sequence[NetworkTraining]:
        return (NetworkTraining(self._make_trainer, self.data.validation),)

    def _make_trainer(self) -> Trainer:
        data, plan = self.data, self.plan
        training: TrainingRows = data.train.examples
        if self.answers is not None:
            training = self.answers.training_rows(data, self.trial.distillation)
        validation = data.validation.examples
        settings = plan.get_training(is_longer=self.trial.is_longer)
        return make_trainer(self.trial.architecture, training, plan, settings, validation)

    def evaluate(self) -> Candidate:
        (training,), rows = self.trainings, self.data.validation

        def evaluate_rounded(precision: Precision) -> Evaluation:
            outputs = training.outputs(precision)
            temperature = self._temperature(outputs, rows)
            loss = self._loss(outputs / np.float32(temperature), rows)
            return Evaluation(loss, training.trainer.result.best_epoch, temperature)

        evaluations = {precision: evaluate_rounded(precision) for precision in self._precisions}
        return self._make_candidate(evaluations, training.trainer.net.weights())
