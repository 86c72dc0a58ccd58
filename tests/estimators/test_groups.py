"""`fit(X, y, groups=...)`: rows of a group are never in two parts of a split."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

from tabnas.data import Shares, Table
from tabnas.errors import TabNASError
from tabnas.estimators import TabNASClassifier, TabNASRegressor, _base
from tabnas.model import Model
from tabnas.runs import LabelledTable, PlannedRun, RunSettings, plan_run, write_card
from tests.estimators.conftest import SMALL

OWN = {key: value for key, value in SMALL.items() if key != "teacher"}
CROSS_VALIDATED, LARGE = 240, 3_200


class PassedOnError(Exception): ...


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Lists the tables of fits, which end when they are planned."""
    tables: list[LabelledTable] = []

    def plan(data: LabelledTable, *arguments: Any, **options: Any) -> None:
        tables.append(data)
        raise PassedOnError

    monkeypatch.setattr(_base, "plan_run", plan)
    return tables


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[PlannedRun]:
    """Lists the runs of fits."""
    runs: list[PlannedRun] = []

    def plan(*arguments: Any, **options: Any) -> PlannedRun:
        runs.append(plan_run(*arguments, **options))
        return runs[-1]

    monkeypatch.setattr(_base, "plan_run", plan)
    return runs


def make_frame(rows: int = CROSS_VALIDATED, groups: int = 24) -> tuple[pd.DataFrame, Any, Any]:
    """Rows in random order, whose groups are names; the column `row` is the number of the row."""
    rng = np.random.default_rng(0)
    names = np.array([f"house {number}" for number in rng.integers(groups, size=rows)])
    frame = pd.DataFrame(
        {
            "row": np.arange(rows, dtype=float),
            "size": rng.normal(size=rows),
            "colour": rng.choice(["red", "blue"], size=rows),
        }
    )
    return frame, np.where(frame["size"] + rng.normal(size=rows) > 0, "high", "low"), names


def same(first: Model, second: Model) -> bool:
    ours, theirs = first.weights, second.weights
    return ours.keys() == theirs.keys() and all(
        ours[name].tobytes() == theirs[name].tobytes() for name in ours
    )


def run_with_column(
    frame: pd.DataFrame, y: Any, groups: Any, *, unlabelled: Any = None, **options: Any
) -> Model:
    """Return the model of a run on a table with a column of groups, as on the command line."""
    table = Table.from_data(frame.assign(house=groups, y=y))
    data = LabelledTable.from_table(table, "y")
    if unlabelled is not None:
        data = data.with_unlabelled(Table.from_data(unlabelled))
    settings = RunSettings(
        limits={"parameters": 200},
        layers=1,
        candidates=1,
        split="group",
        split_column="house",
        shares=Shares(test=0.0),
        refit=True,
        reference_models=False,
        **options,
    )
    return plan_run(data, settings).execute().model


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (CROSS_VALIDATED, {"teacher": "network"}),
        (CROSS_VALIDATED, {"teacher": "trees", "class_weight": "balanced"}),
        (LARGE, {"teacher": "trees"}),
    ],
    ids=["folds", "balanced", "validation rows"],
)
def test_groups_are_those_of_a_group_column(rows: int, options: dict[str, Any]) -> None:
    frame, y, groups = make_frame(rows)
    classifier = TabNASClassifier(**OWN, **options).fit(frame, y, groups=groups)
    assert same(classifier.model_, run_with_column(frame, y, groups, **options))
    assert classifier.n_features_in_ == 3
    without = TabNASClassifier(**OWN, **options).fit(frame, y)
    assert not same(classifier.model_, without.model_)


def test_rows_without_a_target_have_no_group() -> None:
    frame, y, groups = make_frame()
    more, _, _ = make_frame(40)
    classifier = TabNASClassifier(**OWN, teacher="network")
    classifier.fit(frame, y, groups=groups, unlabelled=more)
    assert any(candidate.uses_unlabelled for candidate in classifier.candidates_)
    by_column = run_with_column(frame, y, groups, unlabelled=more, teacher="network")
    assert same(classifier.model_, by_column)


def test_a_regressor_takes_groups(passed: list[LabelledTable]) -> None:
    frame, _, groups = make_frame()
    with pytest.raises(PassedOnError):
        TabNASRegressor(**SMALL).fit(frame, frame["size"], groups=groups)
    _, expected = np.unique(groups, return_inverse=True)
    pairs = set(zip(expected.tolist(), passed[0].groups.tolist(), strict=True))
    assert len(pairs) == 24


@pytest.mark.parametrize(("rows", "folds"), [(CROSS_VALIDATED, 5), (LARGE, 0)])
def test_no_group_is_in_two_parts(planned: list[PlannedRun], rows: int, folds: int) -> None:
    """Neither of the search, nor of the folds of candidates, nor of those of a teacher."""
    frame, y, groups = make_frame(rows)
    learned: list[set[str]] = []
    answered: list[set[str]] = []

    class Recorder(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
            learned.append(set(groups[X["row"].astype(int)]))
            return super().fit(X, y)

        def predict_proba(self, X: Any) -> Any:  # noqa: N803
            answered.append(set(groups[X["row"].astype(int)]))
            return super().predict_proba(X)

    classifier = TabNASClassifier(**OWN, teacher=Recorder(max_depth=2))
    classifier.fit(frame.drop(columns="colour"), y, groups=groups)
    assert len(learned) == len(answered) == (15 if folds else 5)
    assert not any(a & b for a, b in zip(learned, answered, strict=True))
    (run,) = planned
    data = run.data
    assert run.plan.folds == folds
    numbers = data.row_numbers
    train, validation = np.split(groups[numbers], [data.train_rows])
    assert len(set(train)) + len(set(validation)) == 24
    assert not set(train) & set(validation)
    # the folds of candidates are made of these
    assert len(set(zip(groups[numbers], data.groups.tolist(), strict=True))) == 24


def test_copies_of_a_row_do_not_make_a_validation_loss_too_small() -> None:
    """Labels are random, but all rows of a group are nearly the same."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    features = rng.normal(size=(30, 4))[groups] + rng.normal(scale=1e-3, size=(300, 4))
    y = rng.permutation(np.arange(30) % 2)[groups]
    order = rng.permutation(300)
    classifier = TabNASClassifier(**SMALL | {"max_parameters": 1_000})

    def score(**options: Any) -> float:
        fitted = classifier.fit(features[order], y[order], **options)
        return float(fitted.candidates_[0].score)

    assert score() < 0.45
    assert score(groups=groups[order]) > 0.65


def test_rows_of_weight_zero_and_their_groups_are_ignored() -> None:
    frame, y, groups = make_frame()
    doubled = pd.concat([frame, frame + frame], ignore_index=True)
    # the other rows come first, so that groups appear in another order
    weight = np.repeat([0.0, 1.0], len(frame))
    both = TabNASClassifier(**SMALL).fit(
        pd.concat([doubled[len(frame) :], frame], ignore_index=True),
        np.r_[y, y],
        sample_weight=weight,
        groups=np.r_[groups[::-1], groups],
    )
    assert same(both.model_, TabNASClassifier(**SMALL).fit(frame, y, groups=groups).model_)


@pytest.mark.parametrize(
    "convert",
    [
        list,
        pd.Series,
        pd.Categorical,
        pl.Series,
        pa.array,
        lambda names: np.array(names, object),
        lambda names: [f" {name}" for name in names],
        lambda names: np.unique(names, return_inverse=True)[1],
        lambda names: np.unique(names, return_inverse=True)[1] / 2,
        lambda names: pd.Timestamp("2024-01-01")
        + pd.to_timedelta(np.unique(names, return_inverse=True)[1], unit="D"),
    ],
    ids=["list", "series", "categorical", "polars", "arrow", "objects", "spaces", "integers",
         "floats", "days"],
)  # fmt: skip
def test_groups_may_be_of_any_type(
    passed: list[LabelledTable], convert: Callable[[Any], Any]
) -> None:
    frame, y, names = make_frame()
    for groups in (names, convert(names)):
        with pytest.raises(PassedOnError):
            TabNASClassifier(**SMALL).fit(frame, y, groups=groups)
    first, second = (data.groups.tolist() for data in passed)
    assert first == second
    assert len(set(first)) == 24


def test_long_numbers_are_not_rounded(passed: list[LabelledTable]) -> None:
    frame, y, _ = make_frame()
    numbers = 2**60 + np.arange(240) % 6
    for groups in (numbers, pd.Series(numbers, dtype="Int64")):
        with pytest.raises(PassedOnError):
            TabNASClassifier(**SMALL).fit(frame, y, groups=groups)
        assert len(set(passed[-1].groups.tolist())) == 6
    with pytest.raises(TabNASError, match="that of row 1 is missing"):
        TabNASClassifier(**SMALL).fit(
            frame, y, groups=pd.Series([None, *numbers[1:]], dtype="Int64")
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda names: names[:50], "groups must have a label for each of the 240 rows, got 50"),
        (
            lambda names: np.where(np.arange(240) == 7, None, names),
            "must have a label for each row, but that of row 8 is missing; fill it in",
        ),
        (
            lambda names: np.where(np.arange(240) == 9, np.nan, 1.0),
            "but that of row 10 is missing; fill it in",
        ),
        (
            lambda names: np.stack([names, names], axis=1),
            r"groups must have one label for each row, got the shape \(240, 2\)",
        ),
        (lambda names: "house", r"one label for each row, got the shape \(\)"),
        (lambda names: np.full(240, "a"), "must have at least 2 of them, one for each part"),
    ],
    ids=["rows", "missing", "not a number", "columns", "text", "one group"],
)
def test_wrong_groups_are_refused(wrong: Callable[[Any], Any], message: str) -> None:
    frame, y, names = make_frame()
    with pytest.raises(TabNASError, match=message):
        TabNASClassifier(**SMALL).fit(frame, y, groups=wrong(names))


def test_two_groups_leave_none_for_the_folds_of_a_teacher(default_trainings: None) -> None:
    frame, y, _ = make_frame()
    groups = np.arange(240) % 3 > 0
    classifier = TabNASClassifier(**OWN).fit(frame, y, groups=groups)
    assert classifier.result_.teacher is None
    note = "there was no teacher: the training rows are one group"
    assert any(text.startswith(note) for text in classifier.result_.notes)
    for teacher, message in (
        ("trees", "there can be no teacher: the training rows are one group"),
        (DecisionTreeClassifier(), "must be fitted out of fold, but the training rows are one"),
    ):
        with pytest.raises(TabNASError, match=message):
            TabNASClassifier(**OWN, teacher=teacher).fit(frame[["size"]], y, groups=groups)


def test_groups_can_be_routed() -> None:
    """Each fit of a cross-validation gets the groups of its rows."""
    frame, y, groups = make_frame()
    seen: list[set[str]] = []

    class Recorder(TabNASClassifier):
        def fit(self, X: Any, y: Any, *, groups: Any = None) -> Any:  # noqa: N803
            assert len(groups) == len(X)
            seen.append(set(groups))
            return super().fit(X, y, groups=groups)

    with config_context(enable_metadata_routing=True):
        classifier = Recorder(**SMALL).set_fit_request(groups=True)
        assert TabNASClassifier().set_fit_request(groups=True, X_val=True, y_val=True)
        scores = cross_validate(
            classifier, frame, y, cv=GroupKFold(2), params={"groups": groups}, error_score="raise"
        )
    assert len(scores["test_score"]) == 2
    assert not seen[0] & seen[1]
    assert seen[0] | seen[1] == set(groups)


def test_a_stopped_run_is_continued_with_the_same_groups_only(
    tmp_path: Path, interrupted_after: Any
) -> None:
    frame, y, groups = make_frame()
    whole = TabNASClassifier(**SMALL).fit(frame, y, groups=groups)
    with interrupted_after(150):
        TabNASClassifier(**SMALL).fit(frame, y, groups=groups, run_dir=tmp_path / "run")

    def resume(**options: Any) -> TabNASClassifier:
        return TabNASClassifier(**SMALL).fit(frame, y, run_dir=tmp_path / "run", **options)

    merged = np.where(groups == "house 0", "house 1", groups)
    for others in (merged, np.roll(groups, 1)):
        with pytest.raises(TabNASError, match="only as it began, but the groups was"):
            resume(groups=others)
    with pytest.raises(TabNASError, match="only as it began, but the setting split was group"):
        resume()
    renamed = [name.removeprefix("house ") for name in groups]
    assert same(resume(groups=renamed).model_, whole.model_)
    card = write_card(tmp_path / "run").read_text()
    assert "Rows of one group are in the same split; the groups were given in Python." in card
    assert "data = data.with_groups(" in card
