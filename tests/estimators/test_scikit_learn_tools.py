"""The tools of scikit-learn with our estimators: pipelines, grid search, calibration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tabnas.estimators import TabNASClassifier, TabNASRegressor
from tests.estimators.conftest import SMALL


def test_parameters_are_read_set_and_cloned() -> None:
    classifier = TabNASClassifier(500, widths=[8, 16], random_state=1)
    assert clone(classifier).get_params() == classifier.get_params()
    assert classifier.set_params(max_parameters=None, max_flops=900).max_flops == 900
    for kind in (TabNASClassifier, TabNASRegressor):
        embedding = kind(500, numeric_dimensions=[0, 3], knots=6)
        parameters = clone(embedding).get_params()
        assert parameters == embedding.get_params()
        assert (parameters["numeric_dimensions"], parameters["knots"]) == ([0, 3], 6)
        assert embedding.set_params(knots=None).knots is None


def test_cross_validation() -> None:
    flowers, species = load_iris(return_X_y=True)
    assert cross_val_score(TabNASClassifier(**SMALL), flowers, species, cv=3).mean() > 0.9
    patients, progress = load_diabetes(return_X_y=True)
    predicted = cross_val_predict(TabNASRegressor(**SMALL), patients, progress, cv=2)
    assert np.corrcoef(predicted, progress)[0, 1] > 0.6


def test_a_grid_of_dimensions() -> None:
    flowers, species = load_iris(return_X_y=True)
    grid = {"numeric_dimensions": [(0,), (2,)], "knots": [4]}
    search = GridSearchCV(TabNASClassifier(**SMALL), grid, cv=2).fit(flowers, species)
    assert search.best_score_ > 0.8
    dimension = search.best_estimator_.model_.architecture.dimension
    assert (dimension,) == search.best_params_["numeric_dimensions"]


def test_in_a_pipeline() -> None:
    flowers, species = load_iris(return_X_y=True, as_frame=True)
    whole = make_pipeline(StandardScaler(), TabNASClassifier(**SMALL))
    assert whole.fit(flowers, species).score(flowers, species) > 0.9


def test_a_grid_of_limits() -> None:
    flowers, species = load_iris(return_X_y=True)
    grid = GridSearchCV(TabNASClassifier(**SMALL), {"max_parameters": [15, 60]}, cv=2)
    best = grid.fit(flowers, species).best_estimator_
    assert best.costs_["parameters"] <= grid.best_params_["max_parameters"]


def test_a_limit_that_nothing_meets_fails_in_a_grid() -> None:
    flowers, species = load_iris(return_X_y=True)
    grid = GridSearchCV(
        TabNASClassifier(**SMALL), {"max_parameters": [3]}, cv=2, error_score="raise"
    )
    with pytest.raises(ValueError, match="parameters"):
        grid.fit(flowers, species)


def test_probabilities_can_be_calibrated() -> None:
    flowers, species = load_iris(return_X_y=True)
    calibrated = CalibratedClassifierCV(TabNASClassifier(**SMALL), cv=2).fit(flowers, species)
    np.testing.assert_allclose(calibrated.predict_proba(flowers).sum(axis=1), 1)


def test_notebooks_show_the_parameters() -> None:
    html = TabNASClassifier(max_parameters=4321)._repr_html_()
    assert "TabNASClassifier" in html
    assert "4321" in html
