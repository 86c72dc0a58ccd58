"""Answers of the user's own teacher, which columns of the table hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget, NumberTarget, Split, Table, Target
from tabnas.data.lowlevel import (
    NumberFormat,
    RowError,
    fit_number_format,
    is_text,
    renumber_rows,
    to_numbers,
)
from tabnas.errors import TabNASError
from tabnas.runs.prepare._labelled_table import (
    PLACE,
    LabelledTable,
    name_rows,
    name_unlabelled,
)
from tabnas.teachers import MAX_ROUNDING, MAX_SUM_ERROR
from tabnas.types import Float32Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class GivenAnswers:
    """The answers that columns hold, as a network is trained towards them."""

    columns: tuple[str, ...]
    development: Float32Array  # [training and validation rows, outputs]
    test: Float32Array  # [test rows, outputs]
    answers_test: bool  # False if the test rows lack the columns; their answers are then the labels
    unlabelled: Float32Array  # [rows without a target, outputs]

    @property
    def name(self) -> str:
        """What people read: "column p_high"."""
        return f"{'column' if len(self.columns) == 1 else 'columns'} {', '.join(self.columns)}"


def read_given_answers(
    columns: Sequence[str],
    target: Target,
    data: LabelledTable,
    split: Split,
    *,
    validation: LabelledTable | None,
    test: LabelledTable | None,
    unlabelled: tuple[IntArray, IntArray],
) -> GivenAnswers | None:
    """Read and check the answers in some columns of the table; return None without columns.

    They must be better than a constant on the training rows. The user's own validation and test
    rows may lack the columns: then validation rows are learned from by their labels alone, and the
    teacher is not scored on the test rows. Rows without a target must have them: `unlabelled` are
    those of the table, and those of another.
    """
    if not columns:
        return None
    columns = tuple(data.features.resolve_name(name) for name in columns)
    _check_count(columns, target)
    rows = np.concatenate([split.train, split.validation])
    with renumber_rows(data.row_numbers):
        development = _read(columns, target, data.features, rows)
    _check_better_than_constant(columns, target, data.take(split.train), development)
    if validation is not None:
        answers, _ = _read_provided("validation", columns, target, validation)
        development = np.concatenate([development, answers])
    if test is not None:
        test_answers, answers_test = _read_provided("test", columns, target, test)
    else:
        test_answers, answers_test = _read(columns, target, data.features, split.test), True
    unlabelled_answers = [
        _read_unlabelled(columns, target, data, table, rows)
        for table, rows in zip((data.without_target, data.unlabelled), unlabelled, strict=True)
        if table is not None
    ]
    return GivenAnswers(
        columns=columns,
        development=development,
        test=test_answers,
        answers_test=answers_test,
        unlabelled=np.concatenate([development[:0], *unlabelled_answers]),
    )


def find_answered_rows(columns: Sequence[str], data: LabelledTable) -> IntArray:
    """Return which rows of the table without a target have an answer in every column."""
    table = data.without_target
    assert table is not None
    answered = np.ones(len(table), bool)
    for name in columns:
        number_format = _fit_format(name, table, like=data.features)
        try:
            answered &= ~np.isnan(to_numbers(name, table.column(name), number_format))
        except RowError as error:
            error = error.remap(data.numbers_without_target)
            raise TabNASError(f"{PLACE}, {error}") from None
    return np.nonzero(answered)[0]


def _check_count(columns: Sequence[str], target: Target) -> None:
    """Raise an error unless there is a column for each class, or one for two or for a quantity."""
    if not isinstance(target, ClassTarget):
        if len(columns) != 1:
            raise TabNASError(
                f"teacher_columns must be one column of predictions, since the target "
                f"{target.name!r} is a quantity, got {len(columns)}"
            )
        return
    allowed = (1, 2) if len(target.classes) == 2 else (len(target.classes),)
    if len(columns) not in allowed:
        order = ", ".join(map(repr, target.classes[:20])) + ", ..." * (len(target.classes) > 20)
        one = f", or one column for the class {target.classes[1]!r}" if len(allowed) > 1 else ""
        raise TabNASError(
            f"teacher_columns must be one column for each of the {len(target.classes)} classes, in "
            f"this order: {order}{one}; got {len(columns)}"
        )


def _read_provided(
    part: str, columns: Sequence[str], target: Target, provided: LabelledTable
) -> tuple[Float32Array, bool]:
    """Return the answers to all rows of a file, or their labels and False if it has no answers."""
    if not any(name in provided.features for name in columns):
        return _answer_by_labels(target, provided), False
    missing = [name for name in columns if name not in provided.features]
    if missing:
        raise TabNASError(
            f"the {part} rows must have all teacher columns or none, but they lack {missing[0]!r}"
        )
    with name_rows(f"in the {part} rows"), renumber_rows(provided.row_numbers):
        return _read(columns, target, provided.features, np.arange(len(provided))), True


def _read_unlabelled(
    columns: Sequence[str], target: Target, data: LabelledTable, table: Table, rows: IntArray
) -> Float32Array:
    """Return the answers to rows without a target, read as those to rows with one."""
    missing = [name for name in columns if name not in table]
    with name_unlabelled():
        if missing:
            raise TabNASError(
                "the table must have all teacher columns, but it lacks "
                f"{', '.join(map(repr, missing))}; add the teacher's answers to these rows, or "
                "leave the rows out"
            )
        return _read(columns, target, table, rows, like=data.features)


def _read(
    columns: Sequence[str],
    target: Target,
    table: Table,
    rows: IntArray,
    *,
    like: Table | None = None,
) -> Float32Array:
    """Return the answers to these rows, [rows, outputs]: probabilities, or scaled values."""
    values = np.stack([_read_numbers(name, table, rows, like) for name in columns], axis=1)
    if isinstance(target, NumberTarget):
        return np.asarray(target.scale_values(values), np.float32)
    assert isinstance(target, ClassTarget)
    meanings = _describe_columns(columns, target)
    outside = (values < -MAX_ROUNDING) | (values > 1 + MAX_ROUNDING)
    for index in np.nonzero(outside.any(axis=0))[0][:1]:
        wrong = values[outside[:, index], index]
        raise TabNASError(
            f"the teacher column {meanings[index]}, must hold numbers from 0 to 1, but "
            f"{len(wrong):,} of {len(rows):,} are others, like {wrong[0]:g}"
        )
    values = values.clip(0.0, 1.0)
    if len(columns) == 1:
        return values.astype(np.float32)
    sums = values.sum(axis=1, keepdims=True)
    wrong = sums[np.abs(sums - 1) > MAX_SUM_ERROR]
    if len(wrong):
        raise TabNASError(
            f"the teacher columns {', '.join(map(repr, columns))} must add up to 1 in every row, "
            f"but in {len(wrong):,} of {len(rows):,} rows they do not, and give {wrong[0]:g} for "
            "example"
        )
    return np.asarray((values / sums)[:, -target.outputs :], np.float32)


def _read_numbers(name: str, table: Table, rows: IntArray, like: Table | None) -> FloatArray:
    number_format = _fit_format(name, table, like=like or table)
    values = to_numbers(name, table.column(name), number_format)[rows]
    missing = int(np.isnan(values).sum())
    if missing:
        raise TabNASError(
            f"the teacher column {name!r} must have an answer in every row, but "
            f"{missing:,} of {len(rows):,} are missing; fill them in, or leave these rows out"
        )
    return values


def _fit_format(name: str, table: Table, *, like: Table) -> NumberFormat:
    """Return how the numbers of a column are written: as in the table `like`.

    The decimal mark may be another, as in columns of features.
    """
    column = like.column(name)
    number_format, _ = fit_number_format(name, column, like.decimals_for(column))
    if table is not like and is_text(table.column(name)) and table.decimals.mark:
        return replace(number_format, decimal=table.decimals.mark)
    return number_format


def _answer_by_labels(target: Target, data: LabelledTable) -> Float32Array:
    """Return the labels of rows in the form of answers."""
    if not isinstance(target, ClassTarget):
        return np.asarray(target.scale_values(data.y), np.float32)[:, None]
    if target.outputs == 1:
        return np.asarray(data.y, np.float32)[:, None]
    return np.asarray(np.eye(target.outputs, dtype=np.float32)[data.y])


def _check_better_than_constant(
    columns: Sequence[str], target: Target, train: LabelledTable, development: Float32Array
) -> None:
    """Raise an error if the answers to the training rows are worse than their mean label.

    They are compared by squared errors, also those of probabilities (the Brier score): a log loss
    would refuse answers of 0 and 1 for a few that are wrong.
    """
    labels = _answer_by_labels(target, train).astype(np.float64)
    weight = train.weight
    constant = np.average(labels, axis=0, weights=weight)

    def mean_error(answers: NDArray[np.floating]) -> float:
        return float(np.average(((answers - labels) ** 2).sum(axis=1), weights=weight))

    error, constant_error = mean_error(development[: len(train)]), mean_error(constant)
    if error <= constant_error:
        return
    if isinstance(target, ClassTarget):
        taken = "; ".join(_describe_columns(columns, target)[:20])
        question = f"the columns were taken for {taken}: is the order right?"
    else:
        question = f"{columns[0]!r} was taken for values of {target.name!r}: is its unit right?"
    raise TabNASError(
        "the answers in teacher_columns must be better than a constant, but on the training rows "
        f"their mean squared error is {error:.3g}, and that of a constant {constant_error:.3g}; "
        f"{question}"
    )


def _describe_columns(columns: Sequence[str], target: ClassTarget) -> list[str]:
    """Return each column with the class that it is the probability of."""
    classes = target.classes[-len(columns) :]
    return [
        f"{name!r}, the probability of {label!r}"
        for name, label in zip(columns, classes, strict=True)
    ]
