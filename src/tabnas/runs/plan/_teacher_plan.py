"""Which teachers a run trains, and how often."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.model import MAX_TREE_ROWS, make_network_spec
from tabnas.nets import NetworkSpec
from tabnas.runs.plan._time_estimates import TREE_CELL_SECONDS, TREE_SECONDS
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.space import COSTS, Budget
from tabnas.stores import Store
from tabnas.teachers import EstimatorTeacher, max_iterations, network_architecture, network_settings

TeacherName = Literal["trees", "network"]
"""A teacher of `--teacher auto`."""
AUTO_TEACHERS: tuple[TeacherName, ...] = ("trees", "network")
"""The teachers of `--teacher auto`."""
FOLDS, LARGE_FOLDS = 5, 3
LARGE_ROWS = 100_000
"""With at least this many training rows, teachers have `LARGE_FOLDS` folds: two thirds are enough
rows."""
MAX_ANSWER_BYTES = 2 << 30
"""The most that the answers of all teachers may take."""
ANSWER_COPIES = 3  # of two teachers, and their blend

# What a fit takes, by rule and not measured, so that the same seed gives the same teachers.
ITERATIONS = 100  # of boosting, before early stopping ends it
EPOCHS = 12  # of the network, likewise
SECONDS_PER_WEIGHT, SECONDS_PER_ROW = 8e-11, 2e-7  # of a training step, for each of its rows
MAX_TREES_RATIO = 3.0
"""Trees are left out by default if they take this many times as long as search and candidates."""


ONE_GROUP = "the training rows are one group, which cannot be split into folds"
GIVEN_NOTE = (
    "the answers in the teacher columns were used as they are: a model's answers to rows that it "
    "was trained on are too sure, and out-of-fold answers teach better"
)


@dataclass(frozen=True, kw_only=True)
class TeacherPlan:
    """The teachers of a run and their folds."""

    teachers: tuple[str, ...]  # "trees", "network", or the name of the user's own
    folds: int
    nested: bool  # whether candidates are cross-validated, which takes a fit for each pair of folds
    fit_seconds: Mapping[str, float] = field(default_factory=dict)  # estimates for one fit
    rows_ratio: float = 1.0  # rows of a training with unlabelled rows, for each training row
    left_out: tuple[str, ...] = ()  # for lack of time
    notes: tuple[str, ...] = ()
    needs_fitting: bool = True  # False if the user's own teacher has answers already, or is fitted

    @property
    def fits(self) -> int:
        """The fits of each teacher."""
        return count_fits(self.folds, nested=self.nested) * self.needs_fitting

    @property
    def seconds(self) -> float:
        """An estimate of the time of all fits of all teachers."""
        return self.fits * sum(self.fit_seconds.get(name, 0.0) for name in self.teachers)

    def without(self, names: Collection[str]) -> TeacherPlan:
        """Return the plan without some of its teachers."""
        teachers = tuple(name for name in self.teachers if name not in names)
        return replace(
            self,
            teachers=teachers,
            left_out=tuple(name for name in self.teachers if name in names),
            rows_ratio=self.rows_ratio if teachers else 1.0,
        )


def plan_teacher(
    data: PreparedData, settings: RunSettings, *, feasible: FeasibleSet, trainings: int, epochs: int
) -> TeacherPlan:
    """Return the teachers of a run, with none in `teachers` if it has no teacher.

    Parameters
    ----------
    feasible, trainings, epochs
        The feasible set, the trainings of search and candidates, and the epochs of each.
    """
    rows = len(data.train_and_validation) if data.folds else data.train_rows
    folds = data.folds or (FOLDS if rows < LARGE_ROWS else LARGE_FOLDS)
    nested = bool(data.folds)
    none = TeacherPlan(teachers=(), folds=folds, nested=nested)
    if settings.teacher == "none":
        return none
    problem = _find_obstacle(data, settings)
    if problem is not None:
        if settings.teacher != "auto":
            raise TabNASError(f"there can be no teacher: {problem}; use the teacher 'auto'")
        left_out = "" if data.unlabelled is None else "; rows without a target were left out"
        return replace(none, notes=(f"there was no teacher: {problem}{left_out}",))
    more = 0 if data.unlabelled is None else len(data.unlabelled)
    some = replace(none, rows_ratio=1.0 + more / rows)
    if settings.teacher == "own":
        given = data.given_answers
        if given is None:  # an estimator, which takes nobody knows how long
            return replace(some, teachers=("own",))
        return replace(some, teachers=(given.name,), needs_fitting=False, notes=(GIVEN_NOTE,))
    fit_seconds = {
        "trees": _trees_seconds(data, rows),
        "network": _network_seconds(data, rows),
    }
    teachers: tuple[str, ...] = AUTO_TEACHERS
    if settings.teacher != "auto":
        teachers = (settings.teacher,)
    else:
        parameters = int(COSTS["parameters"](feasible.space, feasible.most_expensive()))
        student = rows * epochs * (parameters * SECONDS_PER_WEIGHT + SECONDS_PER_ROW)
        if none.fits * fit_seconds["trees"] > MAX_TREES_RATIO * trainings * student:
            teachers = tuple(name for name in teachers if name != "trees")
    return replace(some, teachers=teachers, fit_seconds=fit_seconds)


def check_own_teacher(
    settings: RunSettings,
    teacher: EstimatorTeacher | None,
    data: LabelledTable | Store,
    validation: LabelledTable | None = None,
) -> None:
    """Raise an error unless the settings ask for the user's own teacher and it is given once."""
    if settings.teacher == "own" and teacher is None and not settings.teacher_columns:
        raise TabNASError(
            "the teacher 'own' must be given, got none; name the columns of its answers with "
            "--teacher-columns, or pass an estimator in Python"
        )
    if teacher is not None and settings.teacher != "own":
        raise TabNASError(
            f"the setting teacher must be 'own' for {teacher.name}, got {settings.teacher!r}"
        )
    if teacher is not None and settings.teacher_columns:
        raise TabNASError(
            "the teacher must be an estimator or columns of answers, got both; leave one out"
        )
    has_unlabelled = isinstance(data, LabelledTable) and data.unlabelled is not None
    if teacher is not None and has_unlabelled != (teacher.unlabelled is not None):
        raise TabNASError(
            f"the teacher {teacher.name} and the table must have the same rows without a target, "
            f"but only {'the table' if has_unlabelled else 'the teacher'} has some; pass them to "
            "EstimatorTeacher(estimator, X, unlabelled) and to LabelledTable.with_unlabelled"
        )
    if teacher is not None and (validation is None) != (teacher.validation is None):
        raise TabNASError(
            f"the teacher {teacher.name} and the run must have the same validation rows, but only "
            f"{'the teacher' if validation is None else 'the run'} has some; pass them to "
            "EstimatorTeacher(estimator, X, validation=X_val) and to the run"
        )


def name_own_teacher(
    plan: TeacherPlan, teacher: EstimatorTeacher, data: PreparedData
) -> TeacherPlan:
    """Return the plan of a run whose own teacher is this estimator."""
    notes = []
    if not teacher.is_frozen and _has_one_group(data):
        raise TabNASError(
            f"the teacher {teacher.name} must be fitted out of fold, but {ONE_GROUP}; use the "
            "teacher 'auto'"
        )
    if teacher.is_frozen:
        notes.append(
            f"the teacher {teacher.name} was used as it is: if it was trained on rows of this "
            "table, its answers to them are too sure, and so may be the network; without "
            "FrozenEstimator, it is fitted out of fold"
        )
    elif data.train_and_validation.training_weight is not None and not teacher.takes_weights:
        notes.append(
            f"the teacher {teacher.name} was fitted without the weights of rows or classes, since "
            "its fit takes no sample_weight"
        )
    needs_fitting = not teacher.is_frozen
    return replace(plan, teachers=(teacher.name,), needs_fitting=needs_fitting, notes=tuple(notes))


def count_fits(folds: int, *, nested: bool) -> int:
    """Return the fits of a teacher: one for each fold, and if nested one for each pair of folds.

    >>> count_fits(5, nested=False), count_fits(5, nested=True)
    (5, 15)
    """
    return folds + nested * folds * (folds - 1) // 2


def _trees_seconds(data: PreparedData, rows: int) -> float:
    """Return about how long a fit of the trees takes on one core."""
    outputs = data.spec.outputs
    cells = min(rows, MAX_TREE_ROWS) * (len(data.encoder.features) + len(data.encoder.n_categories))
    trees = outputs * min(ITERATIONS, max_iterations(outputs))
    return trees * (TREE_SECONDS + TREE_CELL_SECONDS * cells)


def _network_seconds(data: PreparedData, rows: int) -> float:
    """Return about how long a fit of the network takes on one core."""
    spec = make_teacher_spec(data)
    architecture = network_architecture(spec)
    inputs = spec.inputs.width + architecture.dimension * len(spec.inputs.embedded_numeric)
    widths = [inputs, *architecture.widths, spec.outputs]
    weights = sum(a * b for a, b in pairwise(widths))
    settings = network_settings(rows, 0)
    epochs = max(EPOCHS, settings.epochs - EPOCHS)
    return rows * epochs * (weights * SECONDS_PER_WEIGHT + SECONDS_PER_ROW)


def make_teacher_spec(data: PreparedData) -> NetworkSpec:
    """Return the spec of the network teacher: all categories, and as many knots as rows allow."""
    unlimited = data.unlimited
    assert unlimited is not None
    knots = () if unlimited.knot_rule is None else unlimited.knot_rule.choose(Budget())
    return make_network_spec(
        unlimited.encoder, unlimited.target, unlimited.category_dimensions, knots
    )


def _has_one_group(data: PreparedData) -> bool:
    """Return whether no fold can leave rows to learn from, since the training rows are a group."""
    return data.groups is not None and len(np.unique(data.groups[: data.train_rows])) < 2


def _find_obstacle(data: PreparedData, settings: RunSettings) -> str | None:
    """Return why a run can have no teacher, or None."""
    if data.unlimited is None:
        return "the training rows are in a store, not in memory"
    if settings.teacher != "own" and _has_one_group(data):
        return ONE_GROUP
    parts = (data.train_and_validation, data.test, data.unlabelled)
    rows = sum(len(part) for part in parts if part is not None)
    needed = ANSWER_COPIES * 4 * rows * data.spec.outputs
    if needed <= MAX_ANSWER_BYTES:
        return None
    return (
        f"its answers to {rows:,} rows and {data.spec.outputs:,} classes would take "
        f"{needed / 1e9:.1f} GB, and may take {MAX_ANSWER_BYTES / 1e9:.1f} GB"
    )
