"""Scores against scikit-learn, their intervals, and metrics that are undefined."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from tabnas import TabNASError
from tabnas.data import ClassTarget, NumberTarget
from tabnas.decoding import encode
from tabnas.model import METRICS, Scores, _scores, primary_loss, score

NUMBER = NumberTarget(name="y", center=0.0, scale=1.0)


def class_target(classes: int) -> ClassTarget:
    return ClassTarget(name="y", classes=tuple(range(classes)))


def random_classes(rows: int, classes: int, seed: int, *, ties: bool = False):
    """Truth and probabilities that know something of it; with ties, of few different values."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, rows)
    logits = rng.normal(size=(rows, classes))
    logits[np.arange(rows), truth] += 1.0
    if ties:
        logits = logits.round()
    shares = np.exp(logits)
    return truth, shares / shares.sum(axis=1, keepdims=True)


def expected_classes(truth, prediction, weight, classes) -> dict[str, float]:
    labels = prediction.argmax(axis=1)
    rows = np.arange(len(truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that are predicted and do not occur
        balanced = metrics.balanced_accuracy_score(truth, labels, sample_weight=weight)
    eye = np.eye(classes)[truth]
    found = {
        "accuracy": metrics.accuracy_score(truth, labels, sample_weight=weight),
        "balanced_error": 1 - balanced,
        "log_loss": np.average(
            [-np.log(np.clip(p @ t, 2.3e-16, 1)) for p, t in zip(prediction, eye, strict=True)],
            weights=weight,
        ),
    }
    occurring = np.unique(truth[rows if weight is None else weight > 0])
    if len(occurring) == classes:
        labelled = metrics.log_loss(truth, prediction, sample_weight=weight)
        assert found["log_loss"] == pytest.approx(labelled, rel=1e-9)
        scores = prediction[:, 1] if classes == 2 else prediction
        found["auc"] = metrics.roc_auc_score(truth, scores, sample_weight=weight, multi_class="ovr")
    return found


def values(scores: Scores) -> dict[str, float]:
    return {name: found.value for name, found in scores.items()}


@given(
    rows=st.integers(1, 60),
    classes=st.integers(2, 5),
    seed=st.integers(0, 1000),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_classes_agree_with_scikit_learn(rows, classes, seed, ties, weighted):
    truth, prediction = random_classes(rows, classes, seed, ties=ties)
    weight = np.random.default_rng(seed).integers(0, 3, rows) * 0.7 if weighted else None
    if weighted and not weight.any():
        weight[0] = 1.0
    found = score(class_target(classes), truth, prediction, weight, resamples=20)
    expected = expected_classes(truth, prediction, weight, classes)
    assert values(found) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for name, entry in found.items():
        assert (
            METRICS[name].minimum <= entry.low <= entry.value <= entry.high <= METRICS[name].maximum
        )


@given(
    rows=st.integers(1, 60),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    size=st.sampled_from([1e-200, 1.0, 1e6, 1e200]),
)
def test_quantities_agree_with_scikit_learn(rows, seed, weighted, size):
    rng = np.random.default_rng(seed)
    truth = rng.normal(3.0, 2.0, rows).round(1)
    prediction = truth + rng.normal(size=rows)
    weight = rng.integers(1, 4, rows) * 0.3 if weighted else None
    found = score(NUMBER, truth * size, prediction * size, weight, resamples=20)
    mean_squared = metrics.root_mean_squared_error(truth, prediction, sample_weight=weight)
    expected = {
        "rmse": size * mean_squared,
        "mae": size * metrics.mean_absolute_error(truth, prediction, sample_weight=weight),
    }
    if len(np.unique(truth)) > 1:
        expected["r2"] = metrics.r2_score(truth, prediction, sample_weight=weight)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-9)
        assert found[name].low <= found[name].value <= found[name].high


# -- intervals -----------------------------------------------------------------------------------


def class_case(classes: int, weighted: bool):
    truth, prediction = random_classes(3_000, classes, 4)
    weight = np.random.default_rng(5).uniform(0.2, 2.0, 3_000) if weighted else None
    return class_target(classes), truth, prediction, weight


def number_case(weighted: bool):
    rng = np.random.default_rng(6)
    truth = rng.exponential(size=3_000)
    weight = rng.uniform(0.2, 2.0, 3_000) if weighted else None
    return NUMBER, truth, truth * 0.8 + rng.normal(size=3_000) * 0.5, weight


CASES = [class_case(2, False), class_case(2, True), class_case(4, True), number_case(True)]


@pytest.mark.parametrize("case", CASES, ids=["binary", "weighted", "multiclass", "regression"])
def test_both_kinds_of_interval_agree(case, monkeypatch: pytest.MonkeyPatch):
    bootstrap = score(*case, resamples=2_000)
    monkeypatch.setattr(_scores, "MAX_BOOTSTRAP_ROWS", 0)
    normal = score(*case)
    assert values(bootstrap) == values(normal)
    for name, entry in bootstrap.items():
        width = entry.high - entry.low
        assert width > 0
        assert normal[name].low == pytest.approx(entry.low, abs=0.1 * width)
        assert normal[name].high == pytest.approx(entry.high, abs=0.1 * width)


def test_the_interval_of_a_mean_is_the_textbooks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_scores, "MAX_BOOTSTRAP_ROWS", 0)
    errors = np.array([1.0, 2.0, 4.0, 2.0, 5.0, 3.0])
    found = score(NUMBER, errors, np.zeros(6))["mae"]
    reach = 1.959964 * errors.std(ddof=1) / np.sqrt(6)
    assert found.low == pytest.approx(errors.mean() - reach)
    assert found.high == pytest.approx(errors.mean() + reach)


def test_intervals_hold_the_value_and_nothing_that_cannot_be(monkeypatch: pytest.MonkeyPatch):
    truth, shares = np.zeros(10, np.int64), np.tile([0.99, 0.01], (10, 1))
    shares[-1] = [0.01, 0.99]  # one mistake among ten, and a sure one
    for seed in range(8):  # half of these resamples lack a class, and say nothing of the AUC
        pair = score(class_target(2), [0, 1], [[0.9, 0.1], [0.2, 0.8]], seed=seed, resamples=1)
        assert pair["auc"] == _scores.Score(1.0, 1.0, 1.0)
        assert pair["log_loss"].low <= pair["log_loss"].value <= pair["log_loss"].high
    monkeypatch.setattr(_scores, "MAX_BOOTSTRAP_ROWS", 0)
    found = score(class_target(2), truth, shares)
    assert found["accuracy"].high == 1.0
    assert 0.5 < found["accuracy"].low < found["accuracy"].value == 0.9
    assert found["log_loss"].low == 0.0


@pytest.mark.parametrize("case", CASES, ids=["binary", "weighted", "multiclass", "regression"])
def test_influence_is_the_derivative_by_a_rows_weight(case):
    target, truth, prediction, weight = case
    truth, prediction = truth[:50], prediction[:50]
    weight = np.ones(50) if weight is None else weight[:50]
    step = 1e-6
    for metric in _scores.metrics_for(target.task):
        measure = metric.on_rows(truth, prediction)
        nudged = weight + step * weight[:, None] * np.eye(50)
        slopes = (measure.values(nudged) - measure.values(weight[None])) / step
        np.testing.assert_allclose(measure.influence(weight), slopes, rtol=1e-3, atol=1e-7)


def test_a_plain_bootstrap_says_the_same():
    truth, prediction = random_classes(150, 3, 8)
    target = class_target(3)
    found = score(target, truth, prediction, resamples=2_000)
    rng = np.random.default_rng(0)
    draws = [rng.integers(150, size=150) for _ in range(600)]
    for name in found:
        plain = [
            METRICS[name].loss(primary_loss(name, target, truth[d], prediction[d])) for d in draws
        ]
        low, high = np.quantile(plain, [0.025, 0.975])
        width = found[name].high - found[name].low
        assert found[name].low == pytest.approx(low, abs=0.15 * width)
        assert found[name].high == pytest.approx(high, abs=0.15 * width)


def test_the_seed_determines_the_intervals(monkeypatch: pytest.MonkeyPatch):
    truth, prediction = random_classes(100, 3, 1)
    first = score(class_target(3), truth, prediction, seed=3)
    other = score(class_target(3), truth, prediction, seed=4)
    assert first["log_loss"] != other["log_loss"]
    monkeypatch.setattr(_scores, "BLOCK_CELLS", 250)  # neither do blocks matter
    assert dict(score(class_target(3), truth, prediction, seed=3)) == dict(first)


def test_rows_of_weight_zero_are_ignored():
    truth, prediction = random_classes(80, 3, 2)
    weight = np.ones(80)
    weight[50:] = 0
    found = score(class_target(3), truth, prediction, weight)
    assert dict(found) == dict(score(class_target(3), truth[:50], prediction[:50]))
    assert found.rows == 50


def test_large_arrays_are_ranked_without_a_cache(monkeypatch: pytest.MonkeyPatch):
    from tabnas.model import _weighted_metrics

    truth, prediction = random_classes(200, 4, 3)
    expected = score(class_target(4), truth, prediction)
    monkeypatch.setattr(_weighted_metrics, "MAX_CACHED_CELLS", 0)
    assert dict(score(class_target(4), truth, prediction)) == dict(expected)


# -- undefined metrics and validation --------------------------------------------------------------


def test_undefined_metrics_are_left_out():
    shares = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]]
    assert set(score(class_target(3), [0, 1], shares)) == {"accuracy", "balanced_error", "log_loss"}
    assert set(score(NUMBER, [2.0, 2.0], [1.0, 2.0])) == {"rmse", "mae"}
    one = score(class_target(2), [1], [[0.3, 0.7]])
    assert one["accuracy"] == _scores.Score(1.0, 1.0, 1.0)
    with pytest.raises(TabNASError, match="auc is undefined on these rows"):
        primary_loss("auc", class_target(2), [1], [[0.3, 0.7]])


def test_confident_errors_are_not_infinite():
    found = score(class_target(2), [0, 1], [[0.0, 1.0], [0.0, 1.0]])
    assert found["log_loss"].value == pytest.approx(
        metrics.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    )


def test_primary_loss_orders_candidates():
    truth, good = random_classes(200, 3, 7)
    poor = 0.5 * good + 0.5 * np.roll(good, 1, axis=1)
    for metric in _scores.metrics_for("multiclass"):
        target = class_target(3)
        assert primary_loss(metric, target, truth, good) < primary_loss(
            metric.name, target, truth, poor
        )


@pytest.mark.parametrize(
    ("truth", "prediction", "weight", "sentence"),
    [
        ([0, 1], [0.2, 0.8], None, r"y_pred of a binary target \(2, 2\), got"),
        ([0, 2], [[0.5, 0.5]] * 2, None, "class numbers from 0 to 1"),
        ([0.5, 1], [[0.5, 0.5]] * 2, None, "class numbers from 0 to 1"),
        ([0, 1], [[0.5, 0.6]] * 2, None, "must hold probabilities"),
        ([0, 1], [[-0.5, 1.5]] * 2, None, "must hold probabilities"),
        ([0, 1], [[np.nan, 0.5]] * 2, None, "must be finite"),
        ([0, 1], [[0.5, 0.5]] * 2, [1], "sample_weight must hold 2 finite numbers"),
        ([0, 1], [[0.5, 0.5]] * 2, [1, -1], "at least 0"),
        ([0, 1], [[0.5, 0.5]] * 2, [0, 0], "at least one row must have a positive weight"),
        ([], np.zeros((0, 2)), None, "class numbers|at least one row"),
    ],
)
def test_bad_input(truth, prediction, weight, sentence):
    with pytest.raises(TabNASError, match=sentence):
        score(class_target(2), truth, prediction, weight)


def test_differences_that_overflow():
    with pytest.raises(TabNASError, match="y_true - y_pred must be finite"):
        score(NUMBER, [1.5e308, 0.0], [-1.5e308, 0.0])
    found = score(NUMBER, [1e308, -1e308], [0.0, 0.0])
    assert found["mae"].value == pytest.approx(1e308)


def test_scores_as_json():
    truth, prediction = random_classes(50, 2, 0)
    found = score(class_target(2), truth, prediction)
    assert json.loads(json.dumps(encode(found)))["metrics"]["auc"]["value"] == found["auc"].value
    assert repr(found).startswith("<Scores on 50 rows: accuracy 0.")
    assert len(found) == 4
