"""The answers of a teacher to the rows of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tabnas.data import EncodedTable
from tabnas.model import make_examples
from tabnas.nets import (
    Examples,
    TopClasses,
    TrainingRows,
    concatenate_targets,
    mix_targets,
    top_classes,
)
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.types import Float32Array, IntArray

MAX_DENSE_CLASSES, TOP_CLASSES = 64, 16
"""Of more classes than the first number, networks learn the most probable ones: with a distribution
over all, a copy for each training would take too much memory."""


@dataclass(frozen=True)
class Distillation:
    """What a network learns from: labels, and the answers of a teacher.

    A target is `(1 - teacher_share) * label + teacher_share * answer`.
    """

    teacher_share: float = 0.0
    uses_unlabelled: bool = False  # whether it also learns from rows without a label


LABELS_ONLY = Distillation()


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """The answers of a teacher, [rows, outputs], none by a model that learned from the row.

    Rows that the teacher did not learn from have the mean answer of the models of all folds. Knots
    of numeric embeddings are chosen once, by all training rows.
    """

    development: Float32Array  # to training and validation rows
    test: Float32Array
    answers_test: bool = True  # False if a teacher has not answered the test rows: labels instead
    unlabelled: Float32Array
    folds: tuple[Float32Array, ...] = ()
    """If candidates are cross-validated, for each fold: answers to training, validation and
    unlabelled rows by models that did not learn from the rows of this fold, either."""

    def training_rows(self, data: PreparedData, distillation: Distillation) -> TrainingRows:
        """Return the training rows, with targets that answers are mixed into."""
        rows = slice(0, data.train_rows)
        examples = data.train_in_memory.examples
        return self._distil(data, examples, self.development[rows], self.unlabelled, distillation)

    def fold_rows(
        self, data: PreparedData, distillation: Distillation, fold: int, train: IntArray
    ) -> TrainingRows:
        """Return the rows of a cross-validation that are not in this fold."""
        answers, n = self.folds[fold], len(data.train_and_validation)
        examples = data.train_and_validation.take(train).examples
        return self._distil(data, examples, answers[train], answers[n:], distillation)

    def development_rows(self, data: PreparedData, distillation: Distillation) -> TrainingRows:
        """Return all training and validation rows."""
        examples = data.train_and_validation.examples
        return self._distil(data, examples, self.development, self.unlabelled, distillation)

    def all_rows(self, data: PreparedData, distillation: Distillation) -> TrainingRows:
        """Return training, validation and test rows."""
        answers = np.concatenate([self.development, self.test])
        return self._distil(data, data.all_rows.examples, answers, self.unlabelled, distillation)

    def _distil(
        self,
        data: PreparedData,
        examples: Examples,
        answers: Float32Array,
        unlabelled: Float32Array,
        distillation: Distillation,
    ) -> Examples:
        target: Any = examples.target
        if distillation.teacher_share > 0:
            target = mix_targets(
                examples.spec, target, _shorten(answers), distillation.teacher_share
            )
        encoded = EncodedTable(examples.numeric, examples.categorical)
        weight = examples.weight if len(examples.weight) else None
        if distillation.uses_unlabelled and data.unlabelled is not None:
            more = data.unlabelled
            target = concatenate_targets(examples.spec, target, _shorten(unlabelled))
            encoded = EncodedTable.concatenate([encoded, more])
            if weight is not None:  # a row weighs as much as the mean of those with a label
                mean = np.full(len(more), weight.mean(), np.float32)
                weight = np.concatenate([weight, mean])
        return make_examples(examples.spec, encoded, target, weight)


def _shorten(answers: Float32Array) -> Float32Array | TopClasses:
    return top_classes(answers, TOP_CLASSES) if answers.shape[1] > MAX_DENSE_CLASSES else answers
