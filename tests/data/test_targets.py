from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data import (
    NA_VALUES,
    ClassTarget,
    NumberTarget,
    Table,
    check_class_counts,
    find_labelled_rows,
    fit_target,
    target_from_dict,
)
from tabnas.data._labels import Label


def make_column(values: object) -> object:
    return Table.from_data({"y": values}).column("y")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["no", "yes", "no"], ("no", "yes")),
        ([3, 1, 3], (1, 3)),
        ([0.0, 1.0, None], (0, 1)),
        ([True, False, True], (False, True)),
        (["3", "1", "2"], ("1", "2", "3")),
        ([" <=50K", " >50K"], (" <=50K", " >50K")),
        (pa.array([2, 1, 2]).dictionary_encode(), (1, 2)),
        ([-1, 1, -1], (-1, 1)),
        (np.array([1, 2**63], np.uint64), (1, 2**63)),
    ],
)
def test_classes_keep_their_labels(values: object, classes: tuple[object, ...]) -> None:
    target = fit_target("y", make_column(values))
    assert isinstance(target, ClassTarget)
    assert target.classes == classes
    labelled = [value for value in make_column(values).to_pylist() if value is not None]
    codes = target.encode(make_column(labelled))
    assert target.decode(codes).tolist() == labelled
    restored = target_from_dict(json.loads(json.dumps(target.to_dict())))
    assert restored == target


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        ((1, 2**63 + 1), np.uint64),
        ((-1, 2**63 + 1), object),
        ((1, 2**64 + 1), object),
        ((2**63, 2**64 - 1), np.uint64),
        ((-(2**63), 2**63 - 1), np.int64),
        ((0, 1), np.int64),
        ((False, True), np.bool_),
        ((0.5, 1.5), np.float64),
        (("a", "bc"), np.dtype("<U2")),
    ],
)
def test_labels_are_decoded_exactly(classes: tuple[Label, ...], dtype: type) -> None:
    decoded = ClassTarget(name="y", classes=classes).decode(np.array([1, 0, 1]))
    assert decoded.dtype == dtype
    assert decoded.tolist() == [classes[1], classes[0], classes[1]]


def test_numeric_targets() -> None:
    values = np.random.default_rng(0).normal(50, 10, size=200)
    target = fit_target("y", make_column(values))
    assert isinstance(target, NumberTarget)
    y = target.encode(make_column(values))
    assert (y == values).all()
    scaled = target.scale_values(y)
    assert scaled.mean() == pytest.approx(0, abs=1e-6)
    assert target.unscale_values(scaled) == pytest.approx(values, rel=1e-5)
    with pytest.raises(TabNASError, match="the target 'y' in row 2 is missing"):
        target.encode(make_column([1.0, None]))
    assert target_from_dict(target.to_dict()) == target


def test_the_task_can_be_forced() -> None:
    assert fit_target("y", make_column([1, 2, 3]), task="regression").task == "regression"
    integers = list(range(50))
    assert fit_target("y", make_column(integers)).task == "regression"
    assert fit_target("y", make_column([*range(30), None])).task == "multiclass"
    assert fit_target("y", make_column([*range(31), None])).task == "regression"
    assert fit_target("y", make_column([0.5, 1.5, 0.5])).task == "regression"  # not integers
    assert fit_target("y", make_column(integers), task="classification").outputs == 50
    with pytest.raises(TabNASError, match="did you mean 'regression'"):
        fit_target("y", make_column([1, 2]), task="regresion")


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([None, None], None, "all are missing"),
        (["?", ""], None, "all are missing"),
        (["yes", "yes\0no"], None, r"must not have zero bytes, got 'yes\\x00no'; replace them"),
        (["a", "a"], None, "at least two classes, but it has only 'a'"),
        ([1.5, 1.5], "regression", "at least two different values, but it has one"),
        (["a", "b"], "regression", "must hold numbers, but row 1 is 'a'"),
        ([1.0, float("inf")], "regression", "must be finite"),
        ([1.0, float("inf")], None, "'y' must be finite, but row 2"),
        ([7, 7, 7], None, "at least two classes, but it has only 7"),
        (pa.nulls(3), None, "all are missing"),
        (pa.array([float("nan"), None]), None, "all are missing"),
        ([[1], [2]], None, "'y' holds list"),
        ([[1], [2]], "classification", "'y' holds list"),
        ([datetime(2020, 1, 1)] * 2, None, "'y' must hold numbers, but it holds dates"),
        ([*map(str, range(50)), "old"], None, "'y' must hold numbers only.*row 51 is 'old'"),
    ],
)
def test_unusable_targets_are_refused(values: list[object], task: str | None, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        fit_target("y", make_column(values), task=task)


def test_unknown_and_missing_labels_are_refused() -> None:
    target = fit_target("y", make_column(["a", "b"]))
    with pytest.raises(TabNASError, match="in row 2 is 'c', which does not occur"):
        target.encode(make_column(["a", "c"]))
    with pytest.raises(TabNASError, match="in row 1 is missing"):
        target.encode(make_column([None, "a"]))
    with pytest.raises(TabNASError, match="in row 2 is missing"):
        target.encode(make_column(["a", " ? "]))
    with pytest.raises(TabNASError, match="in row 1 is 7, which"):
        target.encode(make_column([7]))
    flags = fit_target("y", make_column([True, False]))
    with pytest.raises(TabNASError, match="row 1 is '2'"):
        flags.encode(make_column([2]))


@pytest.mark.parametrize(
    ("training", "later"),
    [
        ([1, 2], ["1", "2"]),
        ([1, 2], [1.0, 2.0]),
        ([0, 1], [False, True]),
        (["1", "2"], [1, 2]),
        (["1", "2"], [1.0, 2.0]),
        ([False, True], [0, 1]),
        ([False, True], ["False", "true"]),
        ([0.5, 1.5], ["0.5", "1.5"]),
        (["a", "b"], ["a ", " b"]),
        (["a", "b"], pa.array(["a", "b"]).dictionary_encode()),
    ],
)
def test_labels_of_another_type(training: object, later: object) -> None:
    target = fit_target("y", make_column(training), task="classification")
    assert target.encode(make_column(later)).tolist() == [0, 1]


def is_label(text: str) -> bool:
    return text == text.strip() and "\0" not in text and text not in NA_VALUES


labels = st.one_of(
    *(
        st.lists(values, min_size=2, max_size=20)
        for values in (
            st.text(min_size=1, max_size=4).filter(is_label),
            st.integers(-(2**63), 2**63 - 1),
            st.booleans(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(2**53), 2**53).map(float),
        )
    )
)


@given(labels)
@settings(max_examples=100)
def test_any_labels_survive_a_round_trip(values: list[object]) -> None:
    try:
        target = fit_target("y", make_column(values), task="classification")
    except TabNASError:
        assert len(set(values)) == 1
        return
    codes = target.encode(make_column(values))
    assert target.decode(codes).tolist() == values
    assert target_from_dict(json.loads(json.dumps(target.to_dict()))) == target


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
)
def test_any_numeric_targets_stay_finite(training: list[float], later: list[float]) -> None:
    try:
        target = fit_target("y", make_column(training), task="regression")
    except TabNASError:
        assert len(set(training)) == 1
        return
    scaled = target.scale_values(target.encode(make_column(later)))
    assert np.isfinite(scaled).all()
    assert np.isfinite(target.unscale_values(scaled)).all()
    assert target_from_dict(json.loads(json.dumps(target.to_dict()))) == target


def test_rows_with_a_target_are_found() -> None:
    assert find_labelled_rows(make_column(["a", None, " ? ", "NA", "b"])).tolist() == [0, 4]
    assert find_labelled_rows(pa.chunked_array([[1.0, float("nan"), None]])).tolist() == [0]
    assert find_labelled_rows(make_column([True, None])).tolist() == [0]
    assert find_labelled_rows(make_column(pa.nulls(2))).tolist() == []
    assert find_labelled_rows(make_column(pa.array(["a", "?"]).dictionary_encode())).tolist() == [0]


def test_classes_of_one_row_are_refused() -> None:
    values = make_column(["a", "a", "b", "b", "c"])
    target = fit_target("y", values)
    with pytest.raises(TabNASError, match="the class 'c' of the target 'y' has only one row, but"):
        check_class_counts(target, target.encode(values))
    with pytest.raises(TabNASError, match=r"'a'.*only one row, as have 2 others"):
        check_class_counts(target, np.array([0, 1, 2]))
    check_class_counts(target, np.array([0, 0, 1, 1]))
