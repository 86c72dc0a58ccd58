"""Boosted trees as a teacher."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget
from tabnas.model import EncodedTreeMatrix, TreeInputs, TreeRows, fit_boosted_trees
from tabnas.nets import Loss
from tabnas.teachers._rows import TeacherRows
from tabnas.teachers._teacher import StepCallback, do_nothing
from tabnas.types import IntArray

MAX_ITERATIONS = 150
"""Early stopping ends many fits earlier."""
MAX_TREES = 800
"""An iteration grows a tree for each class, so there are fewer iterations if there are many."""


def max_iterations(outputs: int) -> int:
    """Return the maximum number of boosting iterations of a fit.

    >>> max_iterations(1), max_iterations(7), max_iterations(26)
    (150, 114, 50)
    """
    return min(MAX_ITERATIONS, max(50, MAX_TREES // outputs))


@dataclass(frozen=True)
class BoostedTreesTeacher:
    """scikit-learn's histogram gradient boosting, stopped early."""

    name: str = "boosted trees"

    def fit_predict(
        self,
        rows: TeacherRows,
        train: IntArray,
        answered: IntArray,
        *,
        seed: int,
        on_step: StepCallback = do_nothing,
    ) -> NDArray[np.float32]:
        """Fit the rows `train` and answer the rows `answered`; see `Teacher`."""
        inputs = TreeInputs(rows.encoder)
        fitted, stopping = rows.split_for_stopping(train, seed)

        def matrix(numbers: IntArray) -> EncodedTreeMatrix:
            return EncodedTreeMatrix(inputs, rows.encoded.take(numbers))

        def labelled(numbers: IntArray) -> TreeRows:
            weight = None if rows.weight is None else rows.weight[numbers]
            return TreeRows(inputs=matrix(numbers), y=rows.y[numbers], weight=weight)

        trees = fit_boosted_trees(
            rows.target,
            inputs.is_category,
            labelled(fitted),
            [matrix(answered)],
            validation=labelled(stopping),
            seed=seed,
            max_iterations=max_iterations(rows.spec.outputs),
        )
        (answers,) = trees.predictions
        if not isinstance(rows.target, ClassTarget):
            answers = np.asarray(rows.target.scale_values(answers))[:, None]
        elif rows.spec.loss is Loss.LOGISTIC:
            answers = answers[:, 1:]
        return np.ascontiguousarray(answers, np.float32)
