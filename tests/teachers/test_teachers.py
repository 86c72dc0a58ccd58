"""Boosted trees and the wide network as teachers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tabnas.runs import LabelledTable, RunSettings
from tabnas.runs._run_teacher import make_teacher_rows
from tabnas.runs.prepare._prepare import prepare_data
from tabnas.teachers import BoostedTreesTeacher, NetworkTeacher, Teacher, TeacherRows, mean_loss
from tests.runs.helpers import make_table

TEACHERS = [BoostedTreesTeacher(), NetworkTeacher()]
every_teacher = pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: teacher.name)


def make_rows(target: str, **options: object) -> TeacherRows:
    """Return the rows of a small table: `kind` has two classes, `value` is a number."""
    table = make_table(400).drop([name for name in ("kind", "value") if name != target])
    settings = RunSettings(limits={"parameters": 500}, **options)
    return make_teacher_rows(prepare_data(LabelledTable.from_table(table, target), settings))


@pytest.fixture(scope="module")
def rows() -> TeacherRows:
    return make_rows("kind")


@every_teacher
@pytest.mark.parametrize("target", ["kind", "value", "colour"])
def test_answers_are_better_than_a_constant(teacher: Teacher, target: str) -> None:
    table = make_table(400).drop([name for name in ("kind", "value") if name != target])
    if target == "colour":  # a class of three that a number reveals
        table = make_table(400).drop(["kind"])
    data = LabelledTable.from_table(table, target)
    rows = make_teacher_rows(prepare_data(data, RunSettings(limits={"parameters": 500})))
    train, held_out = np.arange(240), np.arange(240, 320)
    answers = teacher.fit_predict(rows, train, held_out, seed=0)
    assert answers.dtype == np.float32
    assert answers.shape == (80, rows.spec.outputs)
    y = rows.target.scale_values(rows.y)
    constant = np.full((80, rows.spec.outputs), 1 / max(2, rows.spec.outputs), np.float32)
    if target == "value":
        constant[:] = y[train].mean()
    else:
        assert ((answers >= 0) & (answers <= 1)).all()
    loss = mean_loss(rows.spec.loss, answers, y[held_out], None)
    assert loss < mean_loss(rows.spec.loss, constant, y[held_out], None)


@every_teacher
def test_the_labels_of_answered_rows_change_no_bit(teacher: Teacher, rows: TeacherRows) -> None:
    train, held_out = np.arange(200), np.arange(200, 300)
    flipped = rows.y.copy()
    flipped[held_out] = 1 - flipped[held_out]
    answers = teacher.fit_predict(rows, train, held_out, seed=0)
    again = teacher.fit_predict(replace(rows, y=flipped), train, held_out, seed=0)
    assert np.array_equal(answers, again)
    other_seed = teacher.fit_predict(rows, train, held_out, seed=1)
    assert not np.array_equal(answers, other_seed)


@every_teacher
def test_weights_are_used(teacher: Teacher, rows: TeacherRows) -> None:
    train, held_out = np.arange(200), np.arange(200, 300)
    heavy = np.where(rows.y == 1, 20.0, 1.0)
    plain = teacher.fit_predict(rows, train, held_out, seed=0)
    weighted = teacher.fit_predict(replace(rows, weight=heavy), train, held_out, seed=0)
    assert weighted.mean() > plain.mean() + 0.05


def test_early_stopping_separates_no_group() -> None:
    rows = make_rows("kind", split="group", split_column="house")
    assert rows.groups is not None
    fitted, stopping = rows.split_for_stopping(np.arange(240), seed=0)
    assert not set(rows.groups[fitted]) & set(rows.groups[stopping])
    assert sorted([*fitted, *stopping]) == list(range(240))
    assert 0 < len(stopping) < 80


def test_a_single_group_stops_by_its_own_rows() -> None:
    rows = make_rows("kind")
    same = replace(rows, groups=np.zeros(len(rows.y), np.int64))
    fitted, stopping = same.split_for_stopping(np.arange(50), seed=0)
    assert np.array_equal(fitted, stopping)
