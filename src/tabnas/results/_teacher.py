"""The teacher of a run."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.decoding import Probability
from tabnas.results._fields import Name, Real


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
