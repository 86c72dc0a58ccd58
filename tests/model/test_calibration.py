from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.model import apply_temperature, fit_temperature, probabilities


def sample_rows(seed: int, rows: int, outputs: int, temperature: float):
    """Return logits, and labels sampled from their probabilities at a temperature."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.standard_normal((rows, outputs)).astype(np.float32)
    proba = probabilities(logits / temperature)
    labels = (rng.random((rows, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    return logits, labels.clip(max=proba.shape[1] - 1)


@pytest.mark.parametrize("outputs", [1, 3, 10])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 5.0])
def test_the_temperature_of_sampled_labels_is_recovered(outputs, temperature) -> None:
    logits, labels = sample_rows(0, 20_000, outputs, temperature)
    assert fit_temperature(logits, labels) == pytest.approx(temperature, rel=0.1)


@given(st.integers(0, 1_000), st.integers(1, 60), st.integers(1, 5), st.floats(0.3, 8))
def test_the_temperature_minimises_the_loss(seed, rows, outputs, temperature) -> None:
    logits, labels = sample_rows(seed, rows, outputs, temperature)
    weight = np.random.default_rng(seed + 1).random(rows) + 0.01

    def loss(log_t: float) -> float:
        log_proba = np.log(np.maximum(probabilities(logits / np.exp(log_t)), 1e-300))
        losses = log_proba[np.arange(rows), labels] + 0.5 / rows * log_proba.mean(axis=1)
        return -(weight / weight.mean()) @ losses + log_t**2 / 2

    log_temperature = np.log(fit_temperature(logits, labels, weight))
    grid = np.linspace(-2.9, 2.9, 300)
    assert loss(log_temperature) <= min(map(loss, grid)) + 1e-6


def test_weights_of_many_rows_count_like_repeated_rows() -> None:
    logits, labels = sample_rows(3, 5_000, 4, 2.0)
    counts = np.random.default_rng(0).integers(0, 4, len(labels))
    repeated = np.repeat(np.arange(len(labels)), counts)
    weighted = fit_temperature(logits, labels, counts)
    assert weighted == pytest.approx(fit_temperature(logits[repeated], labels[repeated]), rel=0.01)


def test_few_correct_rows_do_not_raise_the_confidence() -> None:
    """A few correct rows do not make a network more confident; many do."""
    logits = np.array([[6.0], [-6.0]] * 20, np.float32)
    assert 1 < fit_temperature(logits, [1, 0] * 20) < 2
    assert fit_temperature(logits / 6, [1, 0] * 20) < 0.5
    assert fit_temperature(np.tile(logits, (50, 1)), [1, 0] * 1_000) < 1


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e30])
def test_the_temperature_is_finite_for_any_logits(size) -> None:
    logits = np.array([[size, -size, 0.0]] * 4, np.float32)
    for labels in ([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 0]):
        assert 0.04 < fit_temperature(logits, labels) < 21


def test_rows_without_weight_are_ignored() -> None:
    logits, labels = sample_rows(1, 50, 3, 1.0)
    assert fit_temperature(logits, labels, np.zeros(50)) == 1.0


def test_the_temperature_divides_the_outputs(iris) -> None:
    model, temperature = iris.model, 2.5
    cooled = replace(model, weights=apply_temperature(model.weights, temperature))
    np.testing.assert_allclose(
        cooled.predict_raw(iris.table), model.predict_raw(iris.table) / temperature, atol=1e-5
    )
    np.testing.assert_array_equal(cooled.predict(iris.table), model.predict(iris.table))
    assert cooled.costs == model.costs
