"""The interface of teachers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabnas.teachers._rows import TeacherRows
from tabnas.types import IntArray

MAX_SUM_ERROR = 1e-3
"""How far the probabilities of a row may be from adding up to 1: files have rounded numbers."""
MAX_ROUNDING = 1e-6
"""By how much a probability may be below 0 or above 1."""
StepCallback = Callable[[], None]


def do_nothing() -> None:
    """Do nothing before a step."""


class Teacher(Protocol):
    """A model without a limit, whose answers networks learn from."""

    @property
    def name(self) -> str:
        """The name for people, such as "boosted trees"."""

    def fit_predict(
        self,
        rows: TeacherRows,
        train: IntArray,
        answered: IntArray,
        *,
        seed: int,
        on_step: StepCallback = ...,
    ) -> NDArray[np.float32]:
        """Fit the rows `train` and return answers to the rows `answered`, [rows, outputs].

        Answers are probabilities (of the second class, if there are two), or values as scaled for
        training: what a network would be trained towards. A teacher that is trained in steps calls
        `on_step` before each; it raises an error to stop the training.
        """
