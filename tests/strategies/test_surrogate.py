from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.space import NumericEmbeddings
from tabnas.strategies._surrogate import (
    INTERCEPT_VARIANCE,
    MAX_TERMS,
    PRIOR,
    PRIOR_PRECISION,
    Observations,
    PolynomialBasis,
    Surrogate,
    fit_hyperparameters,
    neg_log_posterior,
)
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace([[2, 4, 8, 16], [0, 3, 9, 27], [0, 5, 6]], inputs=7, outputs=2)
FEASIBLE = FeasibleSet(SPACE, Budget(parameters=500))
BASIS = PolynomialBasis(FEASIBLE, 3)
numbers = st.tuples(st.floats(-4, 2), st.floats(-4, 0), st.floats(-5, 1), st.floats(-5, 1)).map(
    np.array
)


def seen(seed: int, architectures: int = 12) -> tuple[Observations, IntArray, FloatArray]:
    """Observations, and what they sum up: which architecture each was at, and what it saw."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(FEASIBLE.members))[:architectures]
    number = rng.integers(1, 4, size=architectures)
    of = np.repeat(np.arange(architectures), number)
    quality = rng.normal(size=len(of))
    mean = np.bincount(of, quality) / number
    # as they are after standardising, so that the formulas below need not know of it
    quality = (quality - mean.mean()) / mean.std()
    mean = (mean - mean.mean()) / mean.std()
    scatter = float(((quality - mean[of]) ** 2).sum())
    return Observations(BASIS.terms(FEASIBLE.members[chosen]), mean, number, scatter), of, quality


def prior_variance(of: FloatArray) -> FloatArray:
    return np.where(
        BASIS.degrees == 0, INTERCEPT_VARIANCE, np.exp(of[0] + of[1] * (BASIS.degrees - 1))
    )


@given(numbers, st.integers(0, 100))
def test_the_posterior_equals_that_of_the_joint_normal_distribution(
    of: FloatArray, seed: int
) -> None:
    observed, place, quality = seen(seed)
    others = BASIS.terms(FEASIBLE.members)[:5]
    terms = np.concatenate([observed.terms, others])
    every = terms * prior_variance(of) @ terms.T + np.exp(of[2]) * np.eye(len(terms))
    told = every[np.ix_(place, place)] + np.exp(of[3]) * np.eye(len(place))
    between = every[:, place]
    mean = between @ np.linalg.solve(told, quality)
    variance = np.diag(every - between @ np.linalg.solve(told, between.T))

    model = Surrogate(BASIS.degrees, observed, of)
    parts = (model.predict_observed(), model.predict(others))
    assert np.concatenate([one.mean for one in parts]) == pytest.approx(mean, abs=1e-6)
    assert np.concatenate([one.variance for one in parts]) == pytest.approx(variance, abs=1e-6)


@given(numbers, numbers, st.integers(0, 100))
def test_neg_log_posterior_is_that_of_the_evaluations_and_the_numbers(
    one: FloatArray, other: FloatArray, seed: int
) -> None:
    observed, place, quality = seen(seed)

    def dense(of: FloatArray) -> float:
        every = observed.terms * prior_variance(of) @ observed.terms.T
        every += np.exp(of[2]) * np.eye(len(every))
        told = every[np.ix_(place, place)] + np.exp(of[3]) * np.eye(len(place))
        likelihood = multivariate_normal.logpdf(quality, cov=told)
        return float(-2 * likelihood + PRIOR_PRECISION @ (of - PRIOR) ** 2)

    ours = [neg_log_posterior(of, BASIS.degrees, observed)[0] for of in (one, other)]
    assert ours[0] - ours[1] == pytest.approx(dense(one) - dense(other), abs=1e-5)


@given(numbers, st.integers(0, 100))
def test_the_gradient_is_that_of_the_negative_log_posterior(of: FloatArray, seed: int) -> None:
    observed, _, _ = seen(seed)
    gradient = neg_log_posterior(of, BASIS.degrees, observed)[1]
    near = approx_fprime(of, lambda x: neg_log_posterior(x, BASIS.degrees, observed)[0], 1e-6)
    assert gradient == pytest.approx(near, rel=1e-3, abs=1e-2)


def test_evaluations_that_repeat_exactly_are_taken_as_noiseless() -> None:
    rng = np.random.default_rng(0)
    terms = BASIS.terms(FEASIBLE.members)
    number = np.full(len(terms), 2)
    observed = Observations(terms, 7 + 0.1 * rng.normal(size=len(terms)), number, 0.0)
    model = Surrogate(BASIS.degrees, observed, fit_hyperparameters(BASIS.degrees, observed))
    assert model.predict_observed().mean == pytest.approx(observed.mean, abs=1e-6)
    assert model.noise < 1e-9


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_the_noise_of_evaluations_is_found(noise: float) -> None:
    rng = np.random.default_rng(0)
    terms = BASIS.terms(FEASIBLE.members)
    level = terms[:, 1] + 0.3 * rng.normal(size=len(terms))
    looks_at = level[:, None] + noise * rng.normal(size=(len(terms), 8))
    mean = looks_at.mean(axis=1)
    scatter = float(((looks_at - mean[:, None]) ** 2).sum())
    observed = Observations(terms, mean, np.full(len(terms), 8), scatter)
    model = Surrogate(BASIS.degrees, observed, fit_hyperparameters(BASIS.degrees, observed))
    assert model.noise**0.5 == pytest.approx(noise, rel=0.2)


def test_terms_are_products_of_polynomials_in_the_logarithm_of_the_width() -> None:
    plain = FeasibleSet(SearchSpace([[1, 3, 7]], inputs=2, outputs=1), Budget())
    terms = PolynomialBasis(plain, 2).terms(np.array([[0], [1], [2]]))
    x = np.array([-1.0, 0.0, 1.0])  # log(1 + width) is evenly spread here
    legendre = np.stack([np.ones(3), 3**0.5 * x, 5**0.5 * (3 * x**2 - 1) / 2], axis=1)
    assert terms == pytest.approx(legendre)


def test_deep_spaces_have_fewer_degrees() -> None:
    for layers, degree in ((5, 3), (9, 3), (12, 2), (40, 1), (300, 1)):
        space = SearchSpace.uniform(layers=layers, widths=[4, 8], inputs=2, outputs=1)
        surface = PolynomialBasis(FeasibleSet(space, Budget()), 3)
        assert surface.degrees.max() == degree
        assert len(surface.degrees) <= max(MAX_TERMS, layers + 1)


def test_the_dimension_of_numeric_embeddings_counts_as_a_width() -> None:
    """Of the dimensions 0, 1 and 3, the logarithms of 1, 2 and 4 are scaled to -1, 0 and 1."""
    embeddings = NumericEmbeddings(columns=2, knots=8, dimensions=(0, 1, 3))
    space = SearchSpace([[4], [0, 8]], inputs=7, outputs=2, numeric_embeddings=embeddings)
    basis = PolynomialBasis(FeasibleSet(space, Budget()), 1)
    terms = basis.terms(np.array([[0, 0, 0], [1, 0, 1], [2, 0, 0]]))
    expected = [[1, -1, -1], [1, 0, 1], [1, 1, -1]] * np.array([1, np.sqrt(3), np.sqrt(3)])
    np.testing.assert_allclose(terms, expected, atol=1e-12)
