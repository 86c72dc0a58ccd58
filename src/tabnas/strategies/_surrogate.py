"""A model of qualities: a polynomial in the log-widths, a residual per architecture, and noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.polynomial.legendre import legvander

from tabnas.feasible import FeasibleSet
from tabnas.types import FloatArray, IntArray

MAX_TERMS = 256
"""In deep spaces the degree of the polynomial is lowered until it has at most this many terms."""

INTERCEPT_VARIANCE = 100.0
"""The prior variance of the polynomial's constant term, about which nothing is known."""

# The four hyperparameters are logarithms: of the prior variance of a linear term, of the factor for
# each further degree, of the variance of the residuals, and of the noise, all in units of the
# variance of the qualities. They have a Gaussian prior and bounds.
PRIOR = np.array([-1.0, -1.0, -3.0, -5.0])
PRIOR_PRECISION = np.array([0.1, 0.3, 0.3, 0.02])
BOUNDS = ((-10.0, 4.0), (-6.0, 0.0), (-10.0, 2.0), (-60.0, 2.0))
MAX_ITERATIONS = 30


class PolynomialBasis:
    """The terms of a polynomial in the logarithms of the widths.

    The log-width of each layer is scaled to [-1, 1], between the narrowest and the widest candidate
    of the layer in V; an absent layer has the width 0. The dimension of numeric embeddings counts
    as the width of the input layer. The terms are all products of Legendre polynomials up to a
    total degree of `degree`.
    """

    def __init__(self, feasible: FeasibleSet, degree: int) -> None:
        space = feasible.space
        occurs = feasible.marginals() > 0
        self._scaled = np.zeros((len(space.layers), space.max_choices))
        for layer, widths in enumerate(space.layers):
            logs = np.log1p(widths)
            inside = logs[occurs[layer, : len(logs)]]
            low, high = inside.min(), inside.max()
            if high > low:
                self._scaled[layer, : len(logs)] = 2 * (logs - low) / (high - low) - 1
        vary = np.flatnonzero(np.ptp(self._scaled, axis=1) > 0)
        while degree > 1 and comb(len(vary) + degree, degree) > MAX_TERMS:
            degree -= 1
        self._powers = np.array(  # of each layer in each term, [terms, layers]
            [
                np.bincount(np.array(layers, np.int64), minlength=len(space.layers))
                for total in range(degree + 1)
                for layers in combinations_with_replacement(vary, total)
            ]
        )
        self.degrees = self._powers.sum(axis=1)

    def terms(self, choices: IntArray) -> FloatArray:
        """Return the terms, [n, terms], of choices, [n, layers]."""
        layers = np.arange(choices.shape[1])
        polynomials = legvander(self._scaled[layers, choices], int(self.degrees.max()))
        polynomials *= np.sqrt(2 * np.arange(polynomials.shape[2]) + 1)  # to the variance 1
        terms = np.ones((len(choices), len(self._powers)))
        for layer in layers:
            terms *= polynomials[:, layer, self._powers[:, layer]]
        return terms


@dataclass(frozen=True, eq=False)
class Observations:
    """The evaluations of distinct architectures."""

    terms: FloatArray  # [n, terms]
    mean: FloatArray  # mean quality, [n]
    repeats: IntArray  # number of evaluations, [n]
    scatter: float  # sum of the squared deviations of all evaluations from these means

    def standardize(self) -> tuple[Observations, float, float]:
        """Scale the means to mean 0 and variance 1; also return their mean and deviation."""
        mean, scale = float(self.mean.mean()), float(self.mean.std()) or 1.0
        scaled = Observations(
            self.terms, (self.mean - mean) / scale, self.repeats, self.scatter / scale**2
        )
        return scaled, mean, scale


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean and variance of the quality of architectures, [n]."""

    mean: FloatArray
    variance: FloatArray


class Surrogate:
    """`quality = w . terms + residual + noise`: Bayesian linear regression with residuals.

    The residual of an architecture is the same in all its evaluations, the noise differs. So where
    evaluations repeat exactly, the model trusts them; where they do not, it smooths. The four
    `hyperparameters` set the sizes of polynomial, residuals and noise; see `fit_hyperparameters`.
    """

    def __init__(
        self, degrees: IntArray, observations: Observations, hyperparameters: FloatArray
    ) -> None:
        self._observations, self._mean, self._scale = observations.standardize()
        self._residual, self._noise = np.exp(hyperparameters[2:])
        self._weights, self._covariance, self._precision = _regress(
            _prior_variances(degrees, hyperparameters),
            self._residual,
            self._noise,
            self._observations,
        )

    @property
    def noise(self) -> float:
        """The variance of repeated evaluations of an architecture."""
        return float(self._noise) * self._scale**2

    @property
    def residual(self) -> float:
        """The standard deviation of the residuals."""
        return float(np.sqrt(self._residual)) * self._scale

    def polynomial(self, terms: FloatArray) -> FloatArray:
        """Return the mean of the polynomial at terms, [n, terms]."""
        return np.asarray(self._mean + self._scale * (terms @ self._weights))

    def predict(self, terms: FloatArray) -> Posterior:
        """Return the posterior of architectures that were not evaluated, by their [n, terms]."""
        variance = _quadratic(terms, self._covariance) + self._residual
        return Posterior(self.polynomial(terms), variance * self._scale**2)

    def predict_observed(self) -> Posterior:
        """Return the posterior of the observed architectures, in their order."""
        observed = self._observations
        # the share of noise in the deviation of a mean quality from the polynomial
        noisy = self._noise / observed.repeats * self._precision
        mean = noisy * (observed.terms @ self._weights) + (1 - noisy) * observed.mean
        variance = noisy**2 * _quadratic(observed.terms, self._covariance) + noisy * self._residual
        return Posterior(self._mean + self._scale * mean, variance * self._scale**2)


def fit_hyperparameters(
    degrees: IntArray, observations: Observations, start: FloatArray = PRIOR
) -> FloatArray:
    """Return the four hyperparameters of the largest posterior, by L-BFGS-B from `start`."""
    from scipy.optimize import minimize

    result = minimize(
        neg_log_posterior,
        start,
        args=(degrees, observations.standardize()[0]),
        jac=True,
        method="L-BFGS-B",
        bounds=BOUNDS,
        options={"maxiter": MAX_ITERATIONS},
    )
    return np.asarray(result.x)


def neg_log_posterior(
    hyperparameters: FloatArray, degrees: IntArray, observed: Observations
) -> tuple[float, FloatArray]:
    """Return `-2 log p(observed, hyperparameters)`, up to a constant, and its gradient.

    The observations are standardized.
    """
    prior = _prior_variances(degrees, hyperparameters)
    residual, noise = np.exp(hyperparameters[2]), np.exp(hyperparameters[3])
    weights, covariance, precision = _regress(prior, residual, noise, observed)
    repeats = (observed.repeats - 1).sum()
    rest = observed.mean - observed.terms @ weights
    away = hyperparameters - PRIOR

    between = precision @ rest**2 + weights**2 @ (1 / prior)
    volume = np.log(prior).sum() - np.log(precision).sum() - np.linalg.slogdet(covariance)[1]
    within = repeats * hyperparameters[3] + observed.scatter / noise
    value = float(between + volume + within + PRIOR_PRECISION @ away**2)

    of_prior = np.where(degrees == 0, 0.0, 1 - (weights**2 + np.diag(covariance)) / prior)
    of_precision = rest**2 + _quadratic(observed.terms, covariance) - 1 / precision
    of_variance = -(precision**2) * of_precision
    gradient = 2 * PRIOR_PRECISION * away + [
        of_prior.sum(),
        of_prior @ (degrees - 1),
        residual * of_variance.sum(),
        noise * (of_variance / observed.repeats).sum() + repeats - observed.scatter / noise,
    ]
    return value, gradient


def _prior_variances(degrees: IntArray, hyperparameters: FloatArray) -> FloatArray:
    """Return the prior variances of the weights."""
    linear, factor = hyperparameters[0], hyperparameters[1]
    return np.where(degrees == 0, INTERCEPT_VARIANCE, np.exp(linear + factor * (degrees - 1)))


def _regress(
    prior: FloatArray, residual: float, noise: float, observed: Observations
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean and covariance of the weights, and the precision of each mean quality."""
    precision = 1 / (residual + noise / observed.repeats)
    weighted = observed.terms * precision[:, None]
    covariance = np.asarray(
        np.linalg.inv(weighted.T @ observed.terms + np.diag(1 / prior)), np.float64
    )
    return covariance @ (weighted.T @ observed.mean), covariance, precision


def _quadratic(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return `x' M x` of each row x, [n]."""
    return np.asarray(np.einsum("ij,ij->i", rows @ matrix, rows))
