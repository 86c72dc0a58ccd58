"""The teacher of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tabnas.decoding import Probability
from tabnas.results._fields import Name, Real

TEACHER = "teacher"
"""The name of the teacher's scores."""
WITHOUT_TEACHER = "network without teacher"
"""The name of the scores of the same network, trained by labels alone."""
MIN_DISTANCE = 0.005
"""A teacher must be better by this share of the loss for a percentage of it to mean anything."""


@dataclass(frozen=True, kw_only=True)
class TeacherModel:
    """A model whose answers networks learn from."""

    name: Name  # "trees", "network", the class of an estimator, or "column" and its name
    share: Probability  # in the blend of all
    out_of_fold_loss: Real
    """Log loss, or mean squared error of the scaled target; of answers that the user has given, or
    of a frozen estimator, on the same rows, which it may have been trained on."""


@dataclass(frozen=True, kw_only=True)
class TeacherSummary:
    """The teacher of a run, and what it is worth to the network."""

    models: tuple[TeacherModel, ...]
    share: Probability  # of its answers in what the network learned from; 0 if labels were better
    uses_unlabelled: bool  # whether the network learned from rows without a label, too
    score: Real  # of the network by the metric, on validation rows or over folds
    score_without: Real | None  # of the same architecture by labels alone


@dataclass(frozen=True, kw_only=True)
class TeacherDistance:
    """The losses of the network without teacher, the network and the teacher, on test rows."""

    without: float
    network: float
    teacher: float

    @property
    def outcome(self) -> Literal["none", "worse", "part", "beyond"]:
        """Where the network is.

        "none": the teacher is not clearly better than the network without it. Otherwise the network
        is "worse" than without it, has covered "part" of the distance, or is "beyond" the teacher.
        """
        if not self.without - self.teacher > MIN_DISTANCE * abs(self.without):
            return "none"
        if self.network > self.without:
            return "worse"
        return "beyond" if self.network < self.teacher else "part"

    @property
    def covered(self) -> float:
        """The share of the distance to the teacher that the network covers, if it covers a part.

        >>> TeacherDistance(without=0.55, network=0.53, teacher=0.51).covered
        0.5
        """
        return (self.without - self.network) / (self.without - self.teacher)


def describe_distillation(share: float, *, uses_unlabelled: bool = False) -> str:
    """Return what a network has learned from, in a run that has a teacher.

    >>> describe_distillation(0.0), describe_distillation(0.7)
    ('labels alone', '70 % teacher')
    >>> describe_distillation(0.7, uses_unlabelled=True)
    '70 % teacher, unlabelled rows'
    """
    if not share:
        return "labels alone"
    return f"{100 * share:.0f} % teacher{', unlabelled rows' * uses_unlabelled}"
