"""The parameter `teacher`: own estimators, as any meta-estimator of scikit-learn takes them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tabnas.errors import TabNASError
from tabnas.estimators import TabNASClassifier, TabNASRegressor
from tests.estimators.conftest import SMALL

TREE = DecisionTreeClassifier(max_depth=2)
OWN = {key: value for key, value in SMALL.items() if key != "teacher"}


def fit(teacher: Any, features: Any, y: Any, **options: Any) -> TabNASClassifier:
    return TabNASClassifier(**OWN, teacher=teacher).fit(features, y, **options)


def make_frame(rows: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.choice(["x", "y"], size=rows)})
    return frame, np.where(frame["a"] + (frame["b"] == "x") > 0.5, "yes", "no")


def test_a_pipeline_does_its_own_preprocessing() -> None:
    frame, y = make_frame()
    columns = make_column_transformer((OneHotEncoder(), ["b"]), (StandardScaler(), ["a"]))
    classifier = fit(make_pipeline(columns, LogisticRegression()), frame, y)
    (model,) = classifier.result_.teacher.models
    assert model.name == "Pipeline (LogisticRegression)"
    assert model.out_of_fold_loss < np.log(2)
    assert {candidate.teacher_share for candidate in classifier.candidates_} == {0.0, 0.4, 0.7}


def test_a_pipeline_reads_rows_without_a_target_as_they_are_passed() -> None:
    frame, y = make_frame(120)
    columns = make_column_transformer((OneHotEncoder(), ["b"]), (StandardScaler(), ["a"]))
    teacher = make_pipeline(columns, LogisticRegression())
    classifier = fit(teacher, frame[:80], y[:80], unlabelled=frame[80:])
    assert any(candidate.uses_unlabelled for candidate in classifier.candidates_)
    note = "40 rows without a value of 'y', the target: networks may learn"
    assert any(text.startswith(note) for text in classifier.result_.notes)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_each_row_without_a_target_gets_its_own_answer(is_frozen: bool) -> None:
    """Also if rows of X are left out, since their weight is zero."""
    rng = np.random.default_rng(1)
    features, more = rng.normal(size=(90, 2)), rng.normal(size=(40, 2))
    y = 2 + features @ [1.0, 3.0]
    weight = np.arange(90) % 3
    answered: list[np.ndarray] = []

    class Recorder(Ridge):
        def predict(self, X: Any) -> Any:  # noqa: N803
            answered.append(X)
            return super().predict(X)

    teacher = Recorder().fit(features, y)
    with pytest.warns(UserWarning, match="used as it is") if is_frozen else nullcontext():
        regressor = TabNASRegressor(
            **OWN, teacher=FrozenEstimator(teacher) if is_frozen else Recorder()
        ).fit(features, y, sample_weight=weight, unlabelled=more)
    assert any(candidate.uses_unlabelled for candidate in regressor.candidates_)
    of_more = answered[1::2]
    assert len(of_more) == (1 if is_frozen else 15)
    assert all(np.array_equal(rows, more) for rows in of_more)


@pytest.mark.parametrize("name", ["trees", "network", "none"])
def test_names_of_teachers(name: str) -> None:
    frame, y = make_frame(40)
    teacher = fit(name, frame, y).result_.teacher
    assert (teacher is None) == (name == "none")
    if teacher is not None:
        assert [model.name for model in teacher.models] == [name]


def test_the_estimator_itself_is_not_fitted() -> None:
    frame, y = make_frame()
    fit(TREE, frame[["a"]], y)
    assert not hasattr(TREE, "tree_")


def test_regression_with_weights() -> None:
    frame, _ = make_frame()
    y = 3 + frame["a"].to_numpy()
    weight = np.arange(len(y)) % 4  # every fourth row is left out
    regressor = TabNASRegressor(**OWN, teacher=Ridge()).fit(frame[["a"]], y, sample_weight=weight)
    (model,) = regressor.result_.teacher.models
    assert model.name == "Ridge"
    assert model.out_of_fold_loss < 0.01  # if rows and targets were mixed up, about 1


def test_labels_are_those_of_y() -> None:
    """Also if they are numbers or booleans, of which a frozen estimator has learned the type."""
    frame, y = make_frame()
    for labels in (y == "yes", np.where(y == "yes", 7, 3), np.where(y == "yes", 2.0, 5.0)):
        fitted = DecisionTreeClassifier(random_state=0).fit(frame[["a"]], labels)
        with pytest.warns(UserWarning, match="used as it is"):
            classifier = fit(FrozenEstimator(fitted), frame[["a"]], labels)
        assert classifier.result_.teacher.models[0].out_of_fold_loss < 1e-3
        assert any("too sure" in note for note in classifier.result_.notes)


def test_parameters_of_the_teacher_are_nested() -> None:
    classifier = TabNASClassifier(**OWN, teacher=DecisionTreeClassifier(max_depth=2))
    assert classifier.get_params()["teacher__max_depth"] == 2
    classifier.set_params(teacher__max_depth=3)
    assert classifier.teacher.max_depth == 3
    copy = clone(classifier)
    assert copy.teacher.max_depth == 3
    assert copy.teacher is not classifier.teacher
    frame, y = make_frame()
    search = GridSearchCV(copy, {"teacher__max_depth": [1, 2]}, cv=2).fit(frame[["a"]], y)
    assert search.best_params_["teacher__max_depth"] in (1, 2)


def test_a_stopped_run_is_continued_with_the_same_teacher_only(tmp_path: Path) -> None:
    frame, y = make_frame()

    class Stops(DecisionTreeClassifier):
        fits = 0

        def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
            Stops.fits += 1
            if Stops.fits == 4:
                raise KeyboardInterrupt
            return super().fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        fit(Stops(max_depth=2), frame[["a"]], y, run_dir=tmp_path / "run")
    with pytest.raises(TabNASError, match="the teacher was Stops"):
        fit(Stops(max_depth=3), frame[["a"]], y, run_dir=tmp_path / "run")
    resumed = fit(Stops(max_depth=2), frame[["a"]], y, run_dir=tmp_path / "run")
    assert Stops.fits == 15 + 1  # the fit that was stopped began again
    whole = fit(Stops(max_depth=2), frame[["a"]], y)
    assert (resumed.predict_proba(frame[["a"]]) == whole.predict_proba(frame[["a"]])).all()


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("tree", "teacher must be 'auto' or .*; did you mean 'trees'?"),
        ("own", "the teacher 'own' must be given"),
        (None, "an estimator of scikit-learn, got None"),
        (DecisionTreeClassifier, "an estimator of scikit-learn, got <class"),
        (DecisionTreeRegressor(), "has predict_proba, got DecisionTreeRegressor"),
        (LogisticRegression(C=-1), "the teacher LogisticRegression failed to fit"),
    ],
)
def test_wrong_teachers_are_refused(teacher: Any, message: str) -> None:
    frame, y = make_frame()
    with pytest.raises(TabNASError, match=message):
        fit(teacher, frame[["a"]], y)


def test_x_that_scikit_learn_cannot_read_is_refused() -> None:
    frame, y = make_frame()
    with pytest.raises(TabNASError, match="DecisionTreeClassifier failed to"):
        fit(TREE, {"a": frame["a"].to_numpy()}, y)
