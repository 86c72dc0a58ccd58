from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tabnas.data import ClassTarget, Table
from tabnas.errors import TabNASError
from tabnas.estimators import TabNASClassifier, TabNASRegressor
from tabnas.runs import LabelledTable, RunSettings, run_in_folder
from tests.conftest import BRIEF, patch_plan_constants
from tests.estimators.conftest import SMALL


def test_a_saved_classifier_predicts_as_before(birds: Any, tmp_path: Path) -> None:
    features, labels = birds
    classifier = TabNASClassifier(**SMALL, max_bytes=700).fit(features, labels)
    classifier.save(tmp_path / "model")
    loaded = TabNASClassifier.load(tmp_path / "model")
    check_is_fitted(loaded)
    np.testing.assert_array_equal(loaded.predict(features), classifier.predict(features))
    np.testing.assert_array_equal(
        loaded.predict_proba(features), classifier.predict_proba(features)
    )
    assert (loaded.max_parameters, loaded.max_bytes) == (200, 700)
    assert loaded.feature_names_in_.tolist() == classifier.feature_names_in_.tolist()
    assert loaded.costs_ == classifier.costs_
    assert loaded.score(features, labels) == classifier.score(features, labels)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(pd.DataFrame(features)[["wing", "food", "weight"]])
    assert clone(loaded).get_params() == loaded.get_params()


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], [3, 5, 8], [1.0, 2.0], [False, True], np.array([7, 2**63 + 1], np.uint64)],
    ids=str,
)
def test_labels_survive_a_folder(labels: Any, tmp_path: Path) -> None:
    codes = np.arange(40) % len(labels)
    features = codes[:, None] + np.linspace(0, 0.5, 40)[:, None]
    classifier = TabNASClassifier(**SMALL).fit(features, np.array(labels)[codes])
    classifier.save(tmp_path / "model")
    loaded = TabNASClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == classifier.classes_.dtype
    assert loaded.classes_.tolist() == list(labels)
    assert not hasattr(loaded, "feature_names_in_")


def test_a_saved_regressor_predicts_as_before(birds: Any, tmp_path: Path) -> None:
    features, _ = birds
    regressor = TabNASRegressor(**SMALL).fit(features, 1e6 * features["wing"])
    regressor.save(tmp_path / "model")
    loaded = TabNASRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(features), regressor.predict(features))
    with pytest.raises(TabNASError, match="holds a model already"):
        regressor.save(tmp_path / "model")
    regressor.save(tmp_path / "model", overwrite=True)
    with pytest.raises(TabNASError, match=r"use TabNASRegressor\.load"):
        TabNASClassifier.load(tmp_path / "model")


def test_a_classification_model_is_not_loaded_as_a_regressor(birds: Any, tmp_path: Path) -> None:
    TabNASClassifier(**SMALL).fit(*birds).save(tmp_path / "model")
    with pytest.raises(TabNASError, match=r"use TabNASClassifier\.load"):
        TabNASRegressor.load(tmp_path / "model")


def test_spaces_around_column_names_are_ignored(birds: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(birds[0]).rename(columns={"food": " food"})
    classifier = TabNASClassifier(**SMALL).fit(frame, birds[1])
    classifier.save(tmp_path / "model")
    loaded = TabNASClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), classifier.predict(frame))


def test_only_what_is_fitted_is_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        TabNASClassifier().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_pickles_are_whole(birds: Any) -> None:
    classifier = TabNASClassifier(**SMALL).fit(*birds)
    copy = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(copy.predict_proba(birds[0]), classifier.predict_proba(birds[0]))
    assert copy.result_ == classifier.result_
    assert copy.history_ == classifier.history_


def test_a_loaded_run_does_not_need_the_columns_that_it_does_not_use(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "z": rng.normal(size=80), "id": range(80)})
    table = Table.from_data(frame.assign(y=np.where(frame.x > 0, "a", "b")))
    settings = RunSettings(limits={"parameters": 100}, drop=("id",), reference_models=False)
    with patch_plan_constants(BRIEF):
        run_in_folder(tmp_path / "run", LabelledTable.from_table(table, "y"), settings)
    loaded = TabNASClassifier.load(tmp_path / "run")
    assert loaded.feature_names_in_.tolist() == ["x", "z"]
    assert loaded.n_features_in_ == 2
    np.testing.assert_array_equal(loaded.predict(frame), loaded.predict(frame[["x", "z"]]))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["x", "id"]])
    for columns in (["x", "z", "id"], ["x", "z"]):  # arrays have them by position
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            predicted = loaded.predict(frame[columns].to_numpy())
        np.testing.assert_array_equal(predicted, loaded.predict(frame))
    labels = np.where(frame.x > 0, "a", "b")
    settings = SMALL | {"max_parameters": 100}
    again = loaded.set_params(**settings)
    half = frame.index < 40
    again.fit(frame[half], labels[half], X_val=frame[~half], y_val=labels[~half])
    assert again.n_features_in_ == 3


def test_a_loaded_run_of_an_array_does_not_need_the_columns_that_it_does_not_use(
    tmp_path: Path,
) -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))  # noqa: N806
    target = ClassTarget(name="y", classes=("a", "b"))
    data = LabelledTable(Table.from_data(X), target, (X[:, 0] > 0).astype(np.int32))
    settings = RunSettings(limits={"parameters": 100}, drop=("x1",), reference_models=False)
    with patch_plan_constants(BRIEF):
        run_in_folder(tmp_path / "run", data, settings)
    loaded = TabNASClassifier.load(tmp_path / "run")
    assert loaded.n_features_in_ == 2
    np.testing.assert_array_equal(loaded.predict(X), loaded.predict(X[:, [0, 2]]))
