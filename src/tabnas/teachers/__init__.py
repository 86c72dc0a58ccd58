"""Teachers: models without a limit, whose answers small networks learn from."""

from __future__ import annotations

from tabnas.teachers._blend import (
    blend,
    choose_shares,
    join_out_of_fold,
    join_without_fold,
    mean_loss,
    row_losses,
)
from tabnas.teachers._estimator import EstimatorTeacher
from tabnas.teachers._folds import NO_FOLD, Fit, assign_folds, assign_groups, make_fits
from tabnas.teachers._network import NetworkTeacher, network_architecture, network_settings
from tabnas.teachers._rows import TABLE, UNLABELLED_TABLE, VALIDATION_TABLE, TeacherRows
from tabnas.teachers._teacher import MAX_ROUNDING, MAX_SUM_ERROR, Teacher, do_nothing
from tabnas.teachers._trees import BoostedTreesTeacher, max_iterations

__all__ = [
    "MAX_ROUNDING",
    "MAX_SUM_ERROR",
    "NO_FOLD",
    "TABLE",
    "UNLABELLED_TABLE",
    "VALIDATION_TABLE",
    "BoostedTreesTeacher",
    "EstimatorTeacher",
    "Fit",
    "NetworkTeacher",
    "Teacher",
    "TeacherRows",
    "assign_folds",
    "assign_groups",
    "blend",
    "choose_shares",
    "do_nothing",
    "join_out_of_fold",
    "join_without_fold",
    "make_fits",
    "max_iterations",
    "mean_loss",
    "network_architecture",
    "network_settings",
    "row_losses",
]
