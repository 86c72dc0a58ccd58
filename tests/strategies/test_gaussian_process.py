from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from tabnas.strategies._gaussian_process import GaussianProcess, expected_improvement
from tabnas.types import FloatArray, IntArray


def observe(n: int, seed: int = 0) -> tuple[IntArray, FloatArray]:
    rng = np.random.default_rng(seed)
    choices = rng.integers(0, 8, size=(n, 3))
    return choices, 5 + 0.1 * np.sin(choices.sum(axis=1)) + 0.01 * rng.normal(size=n)


def process(choices: IntArray, quality: FloatArray) -> GaussianProcess:
    made = GaussianProcess(length_scale=2.0, noise=0.1, layers=3)
    made.add(choices, quality)
    return made


@pytest.mark.parametrize("batches", [[40], [1] * 40, [7, 1, 20, 12]])
def test_the_posterior_equals_that_of_scikit_learn(batches: list[int]) -> None:
    choices, quality = observe(40)
    candidates, _ = observe(60, seed=1)
    ours = GaussianProcess(length_scale=2.0, noise=0.1, layers=3)
    ours.set_candidates(candidates)
    start = 0
    for size in batches:
        ours.add(choices[start : start + size], quality[start : start + size])
        start += size
    theirs = GaussianProcessRegressor(RBF(2.0) + WhiteKernel(0.1), optimizer=None)
    theirs.fit(choices, (quality - ours.mean) / ours.scale)
    mean, deviation = theirs.predict(candidates, return_std=True)
    believed, uncertain = ours.predict()
    assert np.allclose(believed, mean)
    assert np.allclose(
        uncertain**2, deviation**2 - 0.1
    )  # theirs is of an evaluation, with its noise
    assert np.allclose(ours.predict_observed(), theirs.predict(choices))
    likelihood = theirs.log_marginal_likelihood_value_ - 40 * np.log(ours.scale)
    assert np.isclose(ours.log_likelihood(), likelihood)


def test_watching_later_is_the_same() -> None:
    choices, quality = observe(30)
    candidates, _ = observe(20, seed=1)
    early = GaussianProcess(length_scale=2.0, noise=0.1, layers=3)
    early.set_candidates(candidates)
    early.add(choices, quality)
    late = process(choices, quality)
    late.set_candidates(candidates)
    assert np.allclose(early.predict(), late.predict())


def test_mean_and_scale_are_the_most_likely_ones() -> None:
    choices, quality = observe(12)
    made = process(choices, quality)
    covariance = made.covariance(choices, choices) + 0.1 * np.eye(12)

    def likelihood(mean: float, scale: float) -> float:
        return float(multivariate_normal(np.full(12, mean), scale**2 * covariance).logpdf(quality))

    most = likelihood(made.mean, made.scale)
    assert np.isclose(made.log_likelihood(), most)
    for factor in (0.99, 1.01):
        assert likelihood(factor * made.mean, made.scale) < most
        assert likelihood(made.mean, factor * made.scale) < most


def test_equal_qualities_are_handled() -> None:
    made = process(observe(10)[0], np.full(10, 0.1))
    made.set_candidates(observe(5, seed=1)[0])
    mean, deviation = made.predict()
    assert np.abs(mean).max() < 1e-12
    assert np.isfinite(deviation).all()


@given(st.floats(-3, 3), st.floats(0.05, 3), st.floats(-3, 3))
def test_expected_improvement(mean: float, deviation: float, best: float) -> None:
    improvement = expected_improvement(np.array([mean]), np.array([deviation]), best)
    quality = np.linspace(mean - 10 * deviation, mean + 10 * deviation, 20_001)
    density = norm(mean, deviation).pdf(quality)
    expected = np.trapezoid(np.maximum(quality - best, 0) * density, quality)
    assert np.isclose(improvement[0], expected, atol=1e-6)


def test_a_batch_is_chosen_one_after_the_other() -> None:
    """As if each had been looked at and turned out as expected."""
    choices, quality = observe(15)
    candidates = np.unique(observe(80, seed=1)[0], axis=0)
    made = process(choices, quality)
    made.set_candidates(candidates)
    best = float(made.predict_observed().max())
    chosen = made.select_batch(4, best, np.arange(len(candidates)))

    standard = (quality - made.mean) / made.scale
    left = list(range(len(candidates)))
    for place in chosen:
        theirs = GaussianProcessRegressor(RBF(2.0) + WhiteKernel(0.1), optimizer=None)
        theirs.fit(choices, standard)
        mean, deviation = theirs.predict(candidates[left], return_std=True)
        improvement = expected_improvement(mean, np.sqrt(deviation**2 - 0.1), best)
        assert place == left[int(np.argmax(improvement))]
        believed = mean[left.index(place)]
        choices = np.concatenate([choices, candidates[[place]]])
        standard = np.append(standard, believed)
        best = max(best, float(believed))
        left.remove(place)


def test_only_places_that_are_asked_for_are_chosen() -> None:
    made = process(*observe(15))
    made.set_candidates(np.unique(observe(80, seed=1)[0], axis=0))
    among = np.array([3, 8, 9])
    assert set(made.select_batch(5, 0.0, among)) == {3, 8, 9}
