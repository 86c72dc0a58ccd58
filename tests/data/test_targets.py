from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabnasError
from tabnas.data import ClassTarget, NumberTarget, Table, fit_target, target_from_dict


def column(values: object) -> object:
    return Table.of({"y": values}).column("y")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["no", "yes", "no"], ("no", "yes")),
        ([3, 1, 3], (1, 3)),
        ([0.0, 1.0, None], (0, 1)),
        ([True, False, True], (False, True)),
        (["3", "1", "2"], ("1", "2", "3")),
    ],
)
def test_classes_keep_their_labels(values: list[object], classes: tuple[object, ...]) -> None:
    target = fit_target("y", column(values))
    assert isinstance(target, ClassTarget)
    assert target.classes == classes
    known = [value for value in values if value is not None]
    codes = target.encode(column(known))
    assert target.decode(codes).tolist() == known
    restored = target_from_dict(json.loads(json.dumps(target.to_dict())))
    assert restored == target


def test_quantities() -> None:
    values = np.random.default_rng(0).normal(50, 10, size=200)
    target = fit_target("y", column(values))
    assert isinstance(target, NumberTarget)
    encoded = target.encode(column(values))
    assert encoded.mean() == pytest.approx(0, abs=1e-6)
    assert target.decode(encoded) == pytest.approx(values, rel=1e-5)
    assert target_from_dict(target.to_dict()) == target


def test_the_task_can_be_forced() -> None:
    assert fit_target("y", column([1, 2, 3]), task="regression").task == "regression"
    many = list(range(50))
    assert fit_target("y", column(many)).task == "regression"
    assert fit_target("y", column(many), task="classification").outputs == 50
    with pytest.raises(TabnasError, match="did you mean 'regression'"):
        fit_target("y", column([1, 2]), task="regresion")


@pytest.mark.parametrize(
    ("values", "task", "sentence"),
    [
        ([None, None], None, "all are missing"),
        (["?", ""], None, "all are missing"),
        (["a", "a"], None, "at least two classes, but has only 'a'"),
        ([1.5, 1.5], "regression", "at least two different values, but has one"),
        (["a", "b"], "regression", "must hold numbers, however row 1 is 'a'"),
        ([1.0, float("inf")], "regression", "must be finite"),
    ],
)
def test_bad_targets(values: list[object], task: str | None, sentence: str) -> None:
    with pytest.raises(TabnasError, match=sentence):
        fit_target("y", column(values), task=task)


def test_unknown_and_missing_labels() -> None:
    target = fit_target("y", column(["a", "b"]))
    with pytest.raises(TabnasError, match="in row 2 is 'c', which training had not"):
        target.encode(column(["a", "c"]))
    with pytest.raises(TabnasError, match="in row 1 is missing"):
        target.encode(column([None, "a"]))


@given(st.lists(st.text(min_size=1, max_size=4), min_size=2, max_size=20))
def test_any_labels(labels: list[str]) -> None:
    try:
        target = fit_target("y", column(labels), task="classification")
    except TabnasError:
        return
    codes = [target.encode(column([label])) for label in target.classes]
    assert np.concatenate(codes).tolist() == list(range(len(target.classes)))
