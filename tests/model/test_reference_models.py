"""Baselines: a constant prediction and boosted trees."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from tabnas import TabNASError
from tabnas.data import ClassTarget, NumberTarget
from tabnas.model import (
    TreeInputs,
    TreeRows,
    _reference_models,
    fit_boosted_trees,
    score,
    trivial_prediction,
)
from tabnas.processes import use_processes
from tabnas.threads import limit_threads
from tests.model.conftest import Fitted

pytestmark = pytest.mark.usefixtures("one_thread")
NUMBER = NumberTarget(name="y", center=0.0, scale=1.0)
THREE = ClassTarget(name="y", classes=("a", "b", "c"))


def make_tree_rows(fitted: Fitted, rows: slice) -> TreeRows:
    inputs = make_tree_inputs(fitted).encode(fitted.table, np.arange(len(fitted.table))[rows])
    y = fitted.y[rows]
    return TreeRows(inputs=inputs, y=y)


def make_tree_inputs(fitted: Fitted) -> TreeInputs:
    return TreeInputs(fitted.model.encoder)


def test_trivial_predictions():
    prediction = trivial_prediction(THREE, [0, 0, 1], [1.0, 1.0, 2.0], 2)
    np.testing.assert_allclose(prediction, [[0.5, 0.5, 0.0]] * 2)
    np.testing.assert_allclose(trivial_prediction(NUMBER, [1.0, 4.0], [2.0, 1.0], 3), [2.0] * 3)
    huge = trivial_prediction(NUMBER, [1.5e308, 1.7e308, -1e308], [1.0, 1.0, 2.0], 1)
    np.testing.assert_allclose(huge, [0.3e308])
    with pytest.raises(TabNASError, match="at least one row must have a positive weight"):
        trivial_prediction(NUMBER, [1.0, 4.0], [0.0, 0.0], 3)


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "mixed", "iris"])
def test_boosted_trees_beat_the_trivial_prediction_on_training_rows(name, request):
    fitted = request.getfixturevalue(name)
    target = fitted.model.target
    train, validation = (
        make_tree_rows(fitted, slice(None, None, 2)),
        make_tree_rows(fitted, slice(1, None, 2)),
    )
    boosted = fit_boosted_trees(
        target,
        make_tree_inputs(fitted).is_category,
        train,
        [train.inputs, validation.inputs],
        validation=validation,
    )
    trivial = trivial_prediction(target, train.y, None, len(train.inputs))
    metric = "r2" if isinstance(target, NumberTarget) else "log_loss"
    better, worse = (
        score(target, train.y, prediction, resamples=10)[metric].value
        for prediction in (boosted.predictions[0], trivial)
    )
    assert (better > worse) == (metric == "r2")
    assert len(boosted.predictions[1]) == len(validation.inputs)
    assert 0 < boosted.trees <= boosted.nodes
    assert boosted.seconds > 0


def test_boosted_trees_equal_those_of_scikit_learn(mixed: Fitted):
    rows = make_tree_rows(mixed, slice(None))
    weight = np.linspace(0.1, 2.0, 300)
    is_category = make_tree_inputs(mixed).is_category
    boosted = fit_boosted_trees(
        mixed.model.target,
        is_category,
        TreeRows(inputs=rows.inputs, y=rows.y, weight=weight),
        [rows.inputs],
        seed=3,
    )
    matrix = rows.inputs.astype(float)
    trees = HistGradientBoostingClassifier(
        random_state=3, early_stopping=False, categorical_features=list(is_category)
    ).fit(matrix, rows.y, weight)
    np.testing.assert_array_equal(boosted.predictions[0], trees.predict_proba(matrix))
    assert boosted.trees == 100


def test_seeds_may_be_larger_than_those_of_scikit_learn(mixed: Fitted) -> None:
    rows, is_category = make_tree_rows(mixed, slice(None)), make_tree_inputs(mixed).is_category
    trees = fit_boosted_trees(
        mixed.model.target, is_category, rows, [rows.inputs], seed=20240131120000, max_iterations=2
    )
    assert trees.trees == 2


def test_validation_rows_stop_the_training_of_trees(diabetes: Fitted):
    train, validation = (
        make_tree_rows(diabetes, slice(0, 300)),
        make_tree_rows(diabetes, slice(300, None)),
    )
    grown = fit_boosted_trees(diabetes.model.target, (), train, [])
    stopped = fit_boosted_trees(diabetes.model.target, (), train, [], validation=validation)
    assert stopped.trees < grown.trees == 100
    assert stopped.nodes < grown.nodes


def test_validation_rows_of_tiny_weight_do_not_stop_the_training_of_trees(diabetes: Fitted):
    train, validation = (
        make_tree_rows(diabetes, slice(0, 300)),
        make_tree_rows(diabetes, slice(300, None)),
    )
    rows = len(validation.inputs)
    both = np.concatenate([validation.inputs, validation.inputs])
    noisy = TreeRows(
        inputs=both,
        y=np.concatenate([validation.y, np.random.default_rng(0).permutation(validation.y)]),
        weight=np.repeat([1.0, 1e-9], rows),
    )
    target = diabetes.model.target
    expected, weighted, unweighted = (
        fit_boosted_trees(target, (), train, [], validation=held_out).trees
        for held_out in (validation, noisy, TreeRows(inputs=both, y=noisy.y))
    )
    assert weighted == expected != unweighted


def make_codes(values: list[int]) -> np.ndarray:
    return np.stack([np.linspace(0, 1, len(values)), values], axis=1).astype(np.float32)


def test_classes_may_be_missing_in_training_or_validation_rows():
    rows = make_codes([0, 1] * 50)
    train = TreeRows(inputs=rows, y=np.array([0, 2] * 50))
    unseen = TreeRows(inputs=make_codes([0, 1]), y=np.array([1, 1]))
    boosted = fit_boosted_trees(
        THREE, [False, True], train, [rows, make_codes([])], validation=unseen
    )
    assert boosted.predictions[0].shape == (100, 3)
    assert (boosted.predictions[0][:, 1] == 0).all()
    assert (boosted.predictions[0].argmax(axis=1) == train.y).all()
    assert boosted.predictions[1].shape == (0, 3)
    weight = np.array([1.0, 0.0] * 50)  # only one class has a weight
    single = TreeRows(inputs=rows, y=train.y, weight=weight)
    lonely = fit_boosted_trees(THREE, [False, True], single, [make_codes([0])])
    assert lonely.predictions[0].tolist() == [[1.0, 0.0, 0.0]]
    assert (lonely.trees, lonely.nodes) == (0, 0)


def test_nodes_are_unknown_if_scikit_learn_hides_its_trees() -> None:
    for trees in (object(), SimpleNamespace(_predictors=None)):
        assert _reference_models._count_nodes(trees) is None


def test_truth_must_match_the_rows():
    with pytest.raises(TabNASError, match="y must have the 2 rows of the inputs"):
        fit_boosted_trees(NUMBER, [False, True], TreeRows(inputs=make_codes([0, 1]), y=[1.0]), [])


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reference_models, "MAX_TREE_ROWS", 60)
    monkeypatch.setattr(_reference_models, "MAX_TREE_VALIDATION_ROWS", 20)
    monkeypatch.setattr(_reference_models, "CHUNK_ROWS", 7)
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(200, 3)).astype(np.float32)
    numeric[:, 0].sort()  # sorted, so that the first rows have one class only
    y = (numeric[:, 0] > 0).astype(np.int64)
    rows = TreeRows(inputs=numeric, y=y, weight=(np.arange(200) % 2).astype(float))
    target = ClassTarget(name="y", classes=("a", "b"))
    boosted, again = (
        fit_boosted_trees(target, (), rows, [numeric], validation=rows, seed=1) for _ in range(2)
    )
    assert boosted.rows == 60
    assert boosted.predictions[0].shape == (200, 2)
    assert (boosted.predictions[0].argmax(axis=1) == y).mean() > 0.9
    np.testing.assert_array_equal(boosted.predictions[0], again.predictions[0])


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "mixed"])
def test_trees_do_not_depend_on_the_number_of_threads(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_reference_models, "MIN_ROWS_FOR_THREADS", 10)
    fitted = request.getfixturevalue(name)
    rows = make_tree_rows(fitted, slice(None))
    is_category = make_tree_inputs(fitted).is_category

    def predict(threads: int) -> np.ndarray:
        with limit_threads(threads):
            trees = fit_boosted_trees(fitted.model.target, is_category, rows, [rows.inputs])
        return trees.predictions[0]

    one, *others = (predict(threads) for threads in (1, 2, 5))
    for other in others:
        assert np.array_equal(one, other)


def test_trees_of_another_process_are_the_same(mixed: Fitted) -> None:
    rows, is_category = make_tree_rows(mixed, slice(None)), make_tree_inputs(mixed).is_category
    target, parts = mixed.model.target, [rows.inputs]
    expected = fit_boosted_trees(target, is_category, rows, parts, validation=rows, seed=3)
    with use_processes():
        trees = fit_boosted_trees(target, is_category, rows, parts, validation=rows, seed=3)
    assert (trees.rows, trees.trees, trees.nodes) == (expected.rows, expected.trees, expected.nodes)
    assert np.array_equal(trees.predictions[0], expected.predictions[0])


def test_large_tables_are_not_copied_to_another_process(
    iris: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_tree_rows(iris, slice(None))
    is_category = make_tree_inputs(iris).is_category
    monkeypatch.setattr(
        _reference_models, "call_in_process", lambda *arguments: pytest.fail("copied")
    )
    monkeypatch.setattr(_reference_models, "MAX_PROCESS_CELLS", 2 * rows.inputs[:].size - 1)
    fit_boosted_trees(iris.model.target, is_category, rows, [rows.inputs], max_iterations=1)
    with pytest.raises(pytest.fail.Exception, match="copied"):
        fit_boosted_trees(iris.model.target, is_category, rows, [], max_iterations=1)


def test_trees_in_threads_leave_the_filters_of_warnings_as_they_were(iris: Fitted) -> None:
    """Binning resets them for a while, so a second one at the same time would see none."""
    rows = make_tree_rows(iris, slice(None))
    before = list(warnings.filters)

    def fit(seed: int) -> float:
        is_category = make_tree_inputs(iris).is_category
        options = {"seed": seed, "max_iterations": 3}
        fitted = fit_boosted_trees(iris.model.target, is_category, rows, [], **options)
        return fitted.seconds

    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(pool.map(fit, range(24)))) == 24
    assert list(warnings.filters) == before
