"""Scores agree with scikit-learn; their intervals; metrics that are undefined."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics

from tabnas import TabNASError
from tabnas.data import ClassTarget, NumberTarget
from tabnas.decoding import to_builtins
from tabnas.model import METRICS, Scores, _scores, primary_loss, score

NUMBER = NumberTarget(name="y", center=0.0, scale=1.0)


def make_class_target(classes: int) -> ClassTarget:
    return ClassTarget(name="y", classes=tuple(range(classes)))


def make_random_classes(rows: int, classes: int, seed: int, *, ties: bool = False):
    """Return y and informative probabilities; with ties, they have few different values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    logits = rng.normal(size=(rows, classes))
    logits[np.arange(rows), y] += 1.0
    if ties:
        logits = logits.round()
    shares = np.exp(logits)
    return y, shares / shares.sum(axis=1, keepdims=True)


def compute_expected(y, prediction, weight, classes) -> dict[str, float]:
    labels = prediction.argmax(axis=1)
    rows = np.arange(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for classes that are predicted and do not occur
        balanced = metrics.balanced_accuracy_score(y, labels, sample_weight=weight)
    eye = np.eye(classes)[y]
    expected = {
        "accuracy": metrics.accuracy_score(y, labels, sample_weight=weight),
        "balanced_error": 1 - balanced,
        "log_loss": np.average(
            [-np.log(np.clip(p @ t, 2.3e-16, 1)) for p, t in zip(prediction, eye, strict=True)],
            weights=weight,
        ),
    }
    occurring = np.unique(y[rows if weight is None else weight > 0])
    if len(occurring) == classes:
        labelled = metrics.log_loss(y, prediction, sample_weight=weight)
        assert expected["log_loss"] == pytest.approx(labelled, rel=1e-9)
        scores = prediction[:, 1] if classes == 2 else prediction
        expected["auc"] = metrics.roc_auc_score(y, scores, sample_weight=weight, multi_class="ovr")
    return expected


def read_values(scores: Scores) -> dict[str, float]:
    return {name: entry.value for name, entry in scores.items()}


@given(
    rows=st.integers(1, 60),
    classes=st.integers(2, 5),
    seed=st.integers(0, 1000),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_scores_of_classes_agree_with_scikit_learn(rows, classes, seed, ties, weighted):
    y, prediction = make_random_classes(rows, classes, seed, ties=ties)
    weight = np.random.default_rng(seed).integers(0, 3, rows) * 0.7 if weighted else None
    if weighted and not weight.any():
        weight[0] = 1.0
    scores = score(make_class_target(classes), y, prediction, weight, resamples=20)
    expected = compute_expected(y, prediction, weight, classes)
    assert read_values(scores) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for name, entry in scores.items():
        assert (
            METRICS[name].minimum <= entry.low <= entry.value <= entry.high <= METRICS[name].maximum
        )


@given(
    rows=st.integers(1, 60),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    size=st.sampled_from([1e-200, 1.0, 1e6, 1e200]),
)
def test_scores_of_numbers_agree_with_scikit_learn(rows, seed, weighted, size):
    rng = np.random.default_rng(seed)
    y = rng.normal(3.0, 2.0, rows).round(1)
    prediction = y + rng.normal(size=rows)
    weight = rng.integers(1, 4, rows) * 0.3 if weighted else None
    scores = score(NUMBER, y * size, prediction * size, weight, resamples=20)
    mean_squared = metrics.root_mean_squared_error(y, prediction, sample_weight=weight)
    expected = {
        "rmse": size * mean_squared,
        "mae": size * metrics.mean_absolute_error(y, prediction, sample_weight=weight),
    }
    if len(np.unique(y)) > 1:
        expected["r2"] = metrics.r2_score(y, prediction, sample_weight=weight)
    assert scores.keys() == expected.keys()
    for name, value in expected.items():
        assert scores[name].value == pytest.approx(value, rel=1e-9)
        assert scores[name].low <= scores[name].value <= scores[name].high


# -- intervals -----------------------------------------------------------------------------------


def make_class_case(classes: int, weighted: bool):
    y, prediction = make_random_classes(3_000, classes, 4)
    weight = np.random.default_rng(5).uniform(0.2, 2.0, 3_000) if weighted else None
    return make_class_target(classes), y, prediction, weight


def make_number_case(weighted: bool):
    rng = np.random.default_rng(6)
    y = rng.exponential(size=3_000)
    weight = rng.uniform(0.2, 2.0, 3_000) if weighted else None
    return NUMBER, y, y * 0.8 + rng.normal(size=3_000) * 0.5, weight


CASES = [
    make_class_case(2, False),
    make_class_case(2, True),
    make_class_case(4, True),
    make_number_case(True),
]


@pytest.mark.parametrize("case", CASES, ids=["binary", "weighted", "multiclass", "regression"])
def test_both_kinds_of_interval_agree(case, monkeypatch: pytest.MonkeyPatch):
    bootstrap = score(*case, resamples=2_000)
    monkeypatch.setattr(_scores, "MAX_BOOTSTRAP_ROWS", 0)
    normal = score(*case)
    assert read_values(bootstrap) == read_values(normal)
    for name, entry in bootstrap.items():
        width = entry.high - entry.low
        assert width > 0
        assert normal[name].low == pytest.approx(entry.low, abs=0.1 * width)
        assert normal[name].high == pytest.approx(entry.high, abs=0.1 * width)


def test_the_interval_of_a_mean_is_the_normal_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_scores, "MAX_BOOTSTRAP_ROWS", 0)
    errors = np.array([1.0, 2.0, 4.0, 2.0, 5.0, 3.0])
    scores = score(NUMBER, errors, np.zeros(6))["mae"]
    reach = 1.959964 * errors.std(ddof=1) / np.sqrt(6)
    assert scores.low == pytest.approx(errors.mean() - reach)
    assert scores.high == pytest.approx(errors.mean() + reach)


def test_intervals_contain_the_value_and_only_possible_values(monkeypatch: pytest.MonkeyPatch):
    y, shares = np.zeros(10, np.int64), np.tile([0.99, 0.01], (10, 1))
    shares[-1] = [0.01, 0.99]  # one confident error among ten
    for seed in range(8):  # half of these resamples lack a class and have no AUC
        pair = score(make_class_target(2), [0, 1], [[0.9, 0.1], [0.2, 0.8]], seed=seed, resamples=1)
        assert pair["auc"] == _scores.Score(1.0, 1.0, 1.0)
        assert pair["log_loss"].low <= pair["log_loss"].value <= pair["log_loss"].high
    monkeypatch.setattr(_scores, "MAX_BOOTSTRAP_ROWS", 0)
    scores = score(make_class_target(2), y, shares)
    assert scores["accuracy"].high == 1.0
    assert 0.5 < scores["accuracy"].low < scores["accuracy"].value == 0.9
    assert scores["log_loss"].low == 0.0


@pytest.mark.parametrize("case", CASES, ids=["binary", "weighted", "multiclass", "regression"])
def test_the_influence_of_a_row_is_the_derivative_by_its_weight(case):
    target, y, prediction, weight = case
    y, prediction = y[:50], prediction[:50]
    weight = np.ones(50) if weight is None else weight[:50]
    step = 1e-6
    for metric in _scores.metrics_for(target.task):
        measure = metric.on_rows(y, prediction)
        nudged = weight + step * weight[:, None] * np.eye(50)
        slopes = (measure.values(nudged) - measure.values(weight[None])) / step
        np.testing.assert_allclose(measure.influence(weight), slopes, rtol=1e-3, atol=1e-7)


def test_intervals_agree_with_the_bootstrap():
    y, prediction = make_random_classes(150, 3, 8)
    target = make_class_target(3)
    scores = score(target, y, prediction, resamples=2_000)
    rng = np.random.default_rng(0)
    draws = [rng.integers(150, size=150) for _ in range(600)]
    for name in scores:
        resampled = [
            METRICS[name].loss(primary_loss(name, target, y[d], prediction[d])) for d in draws
        ]
        low, high = np.quantile(resampled, [0.025, 0.975])
        width = scores[name].high - scores[name].low
        assert scores[name].low == pytest.approx(low, abs=0.15 * width)
        assert scores[name].high == pytest.approx(high, abs=0.15 * width)


def test_the_seed_determines_the_intervals(monkeypatch: pytest.MonkeyPatch):
    y, prediction = make_random_classes(100, 3, 1)
    first = score(make_class_target(3), y, prediction, seed=3)
    other = score(make_class_target(3), y, prediction, seed=4)
    assert first["log_loss"] != other["log_loss"]
    monkeypatch.setattr(_scores, "BLOCK_CELLS", 250)  # blocks make no difference
    assert dict(score(make_class_target(3), y, prediction, seed=3)) == dict(first)


def test_rows_of_weight_zero_are_ignored():
    y, prediction = make_random_classes(80, 3, 2)
    weight = np.ones(80)
    weight[50:] = 0
    scores = score(make_class_target(3), y, prediction, weight)
    assert dict(scores) == dict(score(make_class_target(3), y[:50], prediction[:50]))
    assert scores.rows == 50


def test_large_arrays_are_ranked_without_a_cache(monkeypatch: pytest.MonkeyPatch):
    from tabnas.model import _weighted_metrics

    y, prediction = make_random_classes(200, 4, 3)
    expected = score(make_class_target(4), y, prediction)
    monkeypatch.setattr(_weighted_metrics, "MAX_CACHED_CELLS", 0)
    assert dict(score(make_class_target(4), y, prediction)) == dict(expected)


# -- undefined metrics and validation --------------------------------------------------------------


def test_undefined_metrics_are_left_out():
    shares = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]]
    assert set(score(make_class_target(3), [0, 1], shares)) == {
        "accuracy",
        "balanced_error",
        "log_loss",
    }
    assert set(score(NUMBER, [2.0, 2.0], [1.0, 2.0])) == {"rmse", "mae"}
    one = score(make_class_target(2), [1], [[0.3, 0.7]])
    assert one["accuracy"] == _scores.Score(1.0, pytest.approx(0.025), 1.0)
    with pytest.raises(TabNASError, match="auc is undefined on these rows"):
        primary_loss("auc", make_class_target(2), [1], [[0.3, 0.7]])


@pytest.mark.parametrize("rows", [7, 60, 20_000])
@pytest.mark.parametrize("is_right", [True, False])
def test_the_interval_without_errors_is_the_exact_binomial_one(rows: int, is_right: bool):
    y = np.arange(rows) % 2
    shares = np.eye(2)[y if is_right else 1 - y]
    expected = binomtest(rows * is_right, rows).proportion_ci(0.95, method="exact")
    accuracy = score(make_class_target(2), y, shares)["accuracy"]
    assert (accuracy.low, accuracy.high) == pytest.approx((expected.low, expected.high))
    weighted = score(make_class_target(2), y, shares, 1.0 + np.arange(rows))["accuracy"]
    assert weighted.high - weighted.low > accuracy.high - accuracy.low


def test_confident_errors_are_not_infinite():
    scores = score(make_class_target(2), [0, 1], [[0.0, 1.0], [0.0, 1.0]])
    assert scores["log_loss"].value == pytest.approx(
        metrics.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    )


def test_primary_loss_orders_candidates():
    y, good = make_random_classes(200, 3, 7)
    poor = 0.5 * good + 0.5 * np.roll(good, 1, axis=1)
    for metric in _scores.metrics_for("multiclass"):
        target = make_class_target(3)
        assert primary_loss(metric, target, y, good) < primary_loss(metric.name, target, y, poor)


@pytest.mark.parametrize(
    ("y", "prediction", "weight", "message"),
    [
        ([0, 1], [0.2, 0.8], None, r"y_pred of a binary target \(2, 2\), got"),
        ([0, 2], [[0.5, 0.5]] * 2, None, "class numbers from 0 to 1"),
        ([0.5, 1], [[0.5, 0.5]] * 2, None, "class numbers from 0 to 1"),
        ([0, 1], [[0.5, 0.6]] * 2, None, "must hold probabilities"),
        ([0, 1], [[-0.5, 1.5]] * 2, None, "must hold probabilities"),
        ([0, 1], [[np.nan, 0.5]] * 2, None, "must be finite"),
        ([0, 1], [[0.5, 0.5]] * 2, [1], r"sample_weight must have the shape \(2,\), got \(1,\)"),
        ([0, 1], [[0.5, 0.5]] * 2, [1, -1], "at least 0"),
        ([0, 1], [[0.5, 0.5]] * 2, [0, 0], "at least one row must have a positive weight"),
        ([], np.zeros((0, 2)), None, "class numbers|at least one row"),
    ],
)
def test_invalid_arguments_are_refused(y, prediction, weight, message):
    with pytest.raises(TabNASError, match=message):
        score(make_class_target(2), y, prediction, weight)


def test_differences_that_overflow_are_refused():
    with pytest.raises(TabNASError, match="y_true - y_pred must be finite"):
        score(NUMBER, [1.5e308, 0.0], [-1.5e308, 0.0])
    scores = score(NUMBER, [1e308, -1e308], [0.0, 0.0])
    assert scores["mae"].value == pytest.approx(1e308)


def test_scores_as_json():
    y, prediction = make_random_classes(50, 2, 0)
    scores = score(make_class_target(2), y, prediction)
    assert (
        json.loads(json.dumps(to_builtins(scores)))["metrics"]["auc"]["value"]
        == scores["auc"].value
    )
    assert repr(scores).startswith("<Scores on 50 rows: accuracy 0.")
    assert len(scores) == 4
