"""Estimators of scikit-learn as teachers: what they are given, and which answers are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder, Target
from tabnas.errors import TabNASError
from tabnas.model import make_network_spec
from tabnas.runs.prepare._embedding_rule import fit_embeddings
from tabnas.space import Budget
from tabnas.teachers import EstimatorTeacher, TeacherRows

ROWS = 60
TRAIN, ANSWERED = np.arange(0, 40), np.arange(40, ROWS)
NUMBERS = np.random.default_rng(1).permutation(ROWS)
"""The number of each row of a run in X."""


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"size": rng.normal(size=ROWS), "colour": rng.choice(["red", "blue"], size=ROWS)}
    )


FRAME = make_frame()
PETS = ClassTarget(name="pet", classes=("cat", "dog", "owl"))
COINS = ClassTarget(name="coin", classes=("heads", "tails"))
PRICE = NumberTarget(name="price", center=100.0, scale=10.0)
CODES = np.digitize(FRAME["size"], [-0.5, 0.5])
PRICES = 100 + 10 * FRAME["size"].to_numpy()


def make_rows(target: Target, y: np.ndarray, weight: np.ndarray | None = None) -> TeacherRows:
    """Rows of a run, in another order than those of X."""
    table = Table.from_data(FRAME)
    encoder, dimensions = fit_embeddings(TableEncoder.fit(table), Budget())
    return TeacherRows(
        encoder=encoder,
        target=target,
        spec=make_network_spec(encoder, target, dimensions),
        encoded=encoder.encode(table.take(NUMBERS)),
        y=y[NUMBERS],
        weight=weight,
        row_numbers=NUMBERS,
    )


def answer(estimator: Any, rows: TeacherRows, features: Any = FRAME) -> np.ndarray:
    return EstimatorTeacher(estimator, features).fit_predict(rows, TRAIN, ANSWERED, seed=3)


PREPROCESSED = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"])),
    LogisticRegression(),
)


@pytest.mark.parametrize(
    ("target", "y"), [(PETS, CODES), (COINS, CODES // 2)], ids=["three classes", "two classes"]
)
def test_answers_are_those_of_a_fit_by_hand(target: ClassTarget, y: np.ndarray) -> None:
    answers = answer(PREPROCESSED, make_rows(target, y))
    labels = np.array(target.classes)[y]
    by_hand = PREPROCESSED.fit(FRAME.iloc[NUMBERS[TRAIN]], labels[NUMBERS[TRAIN]])
    expected = by_hand.predict_proba(FRAME.iloc[NUMBERS[ANSWERED]])
    assert answers.dtype == np.float32
    assert np.allclose(answers, expected[:, -target.outputs :])


def test_values_are_scaled_as_for_training() -> None:
    answers = answer(LinearRegression(), make_rows(PRICE, PRICES), FRAME[["size"]].to_numpy())
    assert np.allclose(answers[:, 0], FRAME["size"].to_numpy()[NUMBERS[ANSWERED]], atol=1e-5)


@pytest.mark.parametrize("convert", [np.asarray, lambda array: array.tolist(), pl.DataFrame])
def test_rows_are_of_the_type_of_x(convert: Callable[[np.ndarray], Any]) -> None:
    rows, x = make_rows(PETS, CODES), FRAME[["size"]].to_numpy()
    tree = DecisionTreeClassifier(max_depth=3)
    assert (answer(tree, rows, convert(x)) == answer(tree, rows, x)).all()


def test_the_given_estimator_stays_unfitted_and_the_seed_decides() -> None:
    forest = RandomForestClassifier(5)
    rows, x = make_rows(PETS, CODES), FRAME[["size"]]
    assert (answer(forest, rows, x) == answer(forest, rows, x)).all()
    assert not hasattr(forest, "classes_")
    assert forest.random_state is None
    chosen = RandomForestClassifier(5, random_state=9)
    seeded = chosen.fit(x.iloc[NUMBERS[TRAIN]], np.array(PETS.classes)[CODES[NUMBERS[TRAIN]]])
    expected = seeded.predict_proba(x.iloc[NUMBERS[ANSWERED]])
    assert np.allclose(answer(RandomForestClassifier(5, random_state=9), rows, x), expected)


def test_a_class_that_a_fold_lacks_has_probability_zero() -> None:
    y = CODES.copy()
    y[NUMBERS[TRAIN]] = np.where(y[NUMBERS[TRAIN]] == 1, 2, y[NUMBERS[TRAIN]])
    answers = answer(PREPROCESSED, make_rows(PETS, y))
    assert (answers[:, 1] == 0).all()
    assert np.allclose(answers.sum(axis=1), 1)


@pytest.mark.parametrize(
    "classifier",
    [DummyClassifier(), make_pipeline("passthrough", make_pipeline(DummyClassifier()))],
    ids=["alone", "in pipelines"],
)
def test_weights_reach_fit(classifier: Any) -> None:
    weight = np.where(CODES[NUMBERS] == 2, 3.0, 1.0)
    teacher = EstimatorTeacher(classifier, FRAME)
    assert teacher.takes_weights
    answers = teacher.fit_predict(make_rows(PETS, CODES, weight), TRAIN, ANSWERED, seed=0)
    shares = np.bincount(CODES[NUMBERS[TRAIN]], weight[TRAIN]) / weight[TRAIN].sum()
    assert np.allclose(answers, shares)


def test_estimators_without_weights_are_fitted_without() -> None:
    teacher = EstimatorTeacher(NoWeights(), FRAME)
    assert not teacher.takes_weights
    rows = make_rows(PRICE, PRICES, np.linspace(0.5, 1, ROWS))
    assert teacher.fit_predict(rows, TRAIN, ANSWERED, seed=0).shape == (len(ANSWERED), 1)


def test_a_frozen_estimator_answers_as_it_is() -> None:
    fitted = DecisionTreeClassifier(random_state=0).fit(
        FRAME[["size"]], np.array(PETS.classes)[CODES]
    )
    teacher = EstimatorTeacher(FrozenEstimator(fitted), FRAME[["size"]])
    answers = teacher.fit_predict(make_rows(PETS, CODES), TRAIN[:0], ANSWERED, seed=0)
    assert teacher.is_frozen
    assert teacher.name == "DecisionTreeClassifier"
    assert (answers.argmax(axis=1) == CODES[NUMBERS[ANSWERED]]).all()


# -- refusals --------------------------------------------------------------------------------------


class NoWeights(RegressorMixin, BaseEstimator):
    """A regressor whose `fit` takes no weights."""

    def fit(self, X: Any, y: Any) -> NoWeights:  # noqa: N803
        self.mean_ = y.mean()
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return np.full(len(X), self.mean_)


class Wrong(ClassifierMixin, BaseEstimator):
    """A classifier and regressor with answers of a function."""

    def __init__(self, answers: Callable[[int], np.ndarray]) -> None:
        self.answers = answers

    def fit(self, X: Any, y: Any) -> Wrong:  # noqa: N803
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return self.answers(len(X))

    predict_proba = predict


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (lambda n: np.full((n, 3), 0.3), "add up to 1 in each row, got 0.9"),
        (lambda n: np.full((n, 3), np.nan), "from 0 to 1, got nan"),
        (lambda n: np.tile([1.5, -0.5, 0.0], (n, 1)), "from 0 to 1, got 1.5"),
        (lambda n: np.full((n, 2), 0.5), r"of the 3 classes_, got the shape \(20, 2\)"),
        (lambda n: np.full((n - 1, 3), 1 / 3), r"got the shape \(19, 3\)"),
        (lambda n: np.full(n, 0.5), r"got the shape \(20,\)"),
    ],
)
def test_wrong_probabilities_are_refused(answers: Any, message: str) -> None:
    with pytest.raises(TabNASError, match=f"the teacher Wrong must answer with .*{message}"):
        answer(Wrong(answers), make_rows(PETS, CODES))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (lambda n: np.full(n, np.inf), "finite numbers, got inf"),
        (lambda n: np.zeros((n, 2)), r"one number for each of 20 rows, got \(20, 2\)"),
    ],
)
def test_wrong_values_are_refused(answers: Any, message: str) -> None:
    with pytest.raises(TabNASError, match=f"the teacher Wrong must answer with {message}"):
        answer(Wrong(answers), make_rows(PRICE, PRICES))


def test_unknown_classes_are_refused() -> None:
    fitted = DummyClassifier().fit(FRAME, np.where(CODES == 2, "emu", "cat"))
    with pytest.raises(TabNASError, match="DummyClassifier must answer with classes of the target"):
        answer(FrozenEstimator(fitted), make_rows(PETS, CODES))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "LogisticRegression failed to fit: ValueError: could not convert"),
        (FrozenEstimator(PREPROCESSED), r"Pipeline \(LogisticRegression\) failed to predict_proba"),
    ],
)
def test_errors_name_the_estimator(estimator: Any, message: str) -> None:
    unfitted = FrozenEstimator(make_pipeline(LogisticRegression()))
    estimator = unfitted if isinstance(estimator, FrozenEstimator) else estimator
    with pytest.raises(TabNASError, match=f"the teacher {message}"):
        answer(estimator, make_rows(PETS, CODES))


@pytest.mark.parametrize(
    ("estimator", "target", "message"),
    [
        (SVC(), PETS, "must be a classifier that has predict_proba, got SVC"),
        (LinearSVC(), PETS, "predict_proba, got LinearSVC"),
        (DummyRegressor(), COINS, "predict_proba, got DummyRegressor"),
        (DummyClassifier(), PRICE, "must be a regressor.* got DummyClassifier"),
        (DummyClassifier, PETS, "an estimator of scikit-learn, got <class"),
        (None, PETS, "an estimator of scikit-learn, got None"),
        (3, PRICE, "an estimator of scikit-learn, got 3"),
    ],
)
def test_what_cannot_teach_is_refused(estimator: Any, target: Target, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        EstimatorTeacher(estimator, FRAME).check(target)


def test_identity_has_all_parameters_but_no_addresses() -> None:
    def make(depth: int) -> EstimatorTeacher:
        tree = DecisionTreeClassifier(max_depth=depth)
        return EstimatorTeacher(make_pipeline(StandardScaler(), tree), FRAME)

    assert make(3).identity == make(3).identity
    assert make(3).identity != make(4).identity
    assert "0x" not in EstimatorTeacher(Wrong(lambda n: np.zeros(n)), FRAME).identity
