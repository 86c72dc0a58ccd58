"""A model of qualities: a smooth surface, what each architecture has of its own, and noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.polynomial.legendre import legvander

from tabnas.feasible import FeasibleSet
from tabnas.types import FloatArray, IntArray

MOST_TERMS = 256
"""In deep spaces the degree of the surface is lowered until it has no more terms."""

CONSTANT = 100.0
"""The prior variance of the surface's mean level, of which nothing is known."""

# Logarithms of the prior variance of a linear term, of what each further degree multiplies it by,
# of what an architecture has of its own, and of noise, all in units of the variance of the
# qualities: what is believed of them before a look, how firmly, and where they are looked for.
PRIOR = np.array([-1.0, -1.0, -3.0, -5.0])
FIRMNESS = np.array([0.1, 0.3, 0.3, 0.02])
ITERATIONS = 30
BOUNDS = ((-10.0, 4.0), (-6.0, 0.0), (-10.0, 2.0), (-60.0, 2.0))


class Surface:
    """The terms of a polynomial in the logarithms of the widths.

    Layer i is placed on [-1, 1] by the logarithm of its width, between the narrowest and the widest
    that V has there; an absent layer has no unit. The terms are all products of Legendre
    polynomials up to `degree` in total.
    """

    def __init__(self, feasible: FeasibleSet, degree: int) -> None:
        space = feasible.space
        occurs = feasible.marginals() > 0
        self._places = np.zeros((space.depth, space.max_choices))
        for layer, widths in enumerate(space.candidates):
            logs = np.log1p(widths)
            there = logs[occurs[layer, : len(logs)]]
            low, high = there.min(), there.max()
            if high > low:
                self._places[layer, : len(logs)] = 2 * (logs - low) / (high - low) - 1
        vary = np.flatnonzero(np.ptp(self._places, axis=1) > 0)
        while degree > 1 and comb(len(vary) + degree, degree) > MOST_TERMS:
            degree -= 1
        self._powers = np.array(  # of each layer in each term, [terms, layers]
            [
                np.bincount(np.array(layers, np.int64), minlength=space.depth)
                for total in range(degree + 1)
                for layers in combinations_with_replacement(vary, total)
            ]
        )
        self.degrees = self._powers.sum(axis=1)

    def terms(self, choices: IntArray) -> FloatArray:
        """Of choices, [n, layers]: their terms, [n, terms]."""
        layers = np.arange(choices.shape[1])
        polynomials = legvander(self._places[layers, choices], int(self.degrees.max()))
        polynomials *= np.sqrt(2 * np.arange(polynomials.shape[2]) + 1)  # of variance 1
        terms = np.ones((len(choices), len(self._powers)))
        for layer in layers:
            terms *= polynomials[:, layer, self._powers[:, layer]]
        return terms


@dataclass(frozen=True, eq=False)
class Looks:
    """What was seen: architectures, each once, and how often they were looked at."""

    terms: FloatArray  # [n, terms]
    mean: FloatArray  # of the qualities of its looks, [n]
    number: IntArray  # of looks, [n]
    scatter: float  # the squared distances of all looks from these means, summed up

    def standardised(self) -> tuple[Looks, float, float]:
        """With means of mean 0 and variance 1; and what they were before."""
        middle, scale = float(self.mean.mean()), float(self.mean.std()) or 1.0
        scaled = Looks(
            self.terms, (self.mean - middle) / scale, self.number, self.scatter / scale**2
        )
        return scaled, middle, scale


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the quality of architectures, [n]."""

    mean: FloatArray
    variance: FloatArray


class Surrogate:
    """`look = w . terms + own + noise`: Bayesian linear regression, and one number an architecture.

    What an architecture has of its own is the same at every look at it, noise never is. So where
    looks repeat exactly the model believes what it saw, and where they do not it smooths. How large
    either is, and how much the surface bends, are the four `numbers` that `likeliest` finds.
    """

    def __init__(self, degrees: IntArray, looks: Looks, numbers: FloatArray) -> None:
        self._looks, self._middle, self._scale = looks.standardised()
        self._own, self._noise = np.exp(numbers[2:])
        self._weights, self._covariance, self._precision = _regress(
            _prior(degrees, numbers), self._own, self._noise, self._looks
        )

    @property
    def noise(self) -> float:
        """The variance of looks at the same architecture."""
        return float(self._noise) * self._scale**2

    @property
    def own(self) -> float:
        """The standard deviation of what architectures have of their own."""
        return float(np.sqrt(self._own)) * self._scale

    def level(self, terms: FloatArray) -> FloatArray:
        """The mean of the surface, of terms [n, terms]: all that is known of what was not seen."""
        return np.asarray(self._middle + self._scale * (terms @ self._weights))

    def of_unseen(self, terms: FloatArray) -> Belief:
        """Of architectures that were never looked at, by their terms, [n, terms]."""
        variance = _quadratic(terms, self._covariance) + self._own
        return Belief(self.level(terms), variance * self._scale**2)

    def of_seen(self) -> Belief:
        """Of the architectures of the looks, in their order."""
        looks = self._looks
        # of what a mean of looks differs from the surface, this share is noise, not the
        # architecture's own
        noisy = self._noise / looks.number * self._precision
        mean = noisy * (looks.terms @ self._weights) + (1 - noisy) * looks.mean
        variance = noisy**2 * _quadratic(looks.terms, self._covariance) + noisy * self._own
        return Belief(self._middle + self._scale * mean, variance * self._scale**2)


def likeliest(degrees: IntArray, looks: Looks, start: FloatArray = PRIOR) -> FloatArray:
    """The four numbers by marginal likelihood, looked for from `start`."""
    from scipy.optimize import minimize

    found = minimize(
        surprise,
        start,
        args=(degrees, looks.standardised()[0]),
        jac=True,
        method="L-BFGS-B",
        bounds=BOUNDS,
        options={"maxiter": ITERATIONS},
    )
    return np.asarray(found.x)


def surprise(numbers: FloatArray, degrees: IntArray, looks: Looks) -> tuple[float, FloatArray]:
    """`-2 log p(looks, numbers)` of standardised looks, but for a constant, and its gradient."""
    prior, own, noise = _prior(degrees, numbers), np.exp(numbers[2]), np.exp(numbers[3])
    weights, covariance, precision = _regress(prior, own, noise, looks)
    repeats = (looks.number - 1).sum()
    rest = looks.mean - looks.terms @ weights
    away = numbers - PRIOR

    between = precision @ rest**2 + weights**2 @ (1 / prior)
    volume = np.log(prior).sum() - np.log(precision).sum() - np.linalg.slogdet(covariance)[1]
    within = repeats * numbers[3] + looks.scatter / noise
    surprised = float(between + volume + within + FIRMNESS @ away**2)

    of_prior = np.where(degrees == 0, 0.0, 1 - (weights**2 + np.diag(covariance)) / prior)
    of_precision = rest**2 + _quadratic(looks.terms, covariance) - 1 / precision
    of_variance = -(precision**2) * of_precision
    gradient = 2 * FIRMNESS * away + [
        of_prior.sum(),
        of_prior @ (degrees - 1),
        own * of_variance.sum(),
        noise * (of_variance / looks.number).sum() + repeats - looks.scatter / noise,
    ]
    return surprised, gradient


def _prior(degrees: IntArray, numbers: FloatArray) -> FloatArray:
    """The variances of the weights before a look."""
    return np.where(degrees == 0, CONSTANT, np.exp(numbers[0] + numbers[1] * (degrees - 1)))


def _regress(
    prior: FloatArray, own: float, noise: float, looks: Looks
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weights' mean and covariance, and the precision of what was seen of the surface."""
    precision = 1 / (own + noise / looks.number)
    weighted = looks.terms * precision[:, None]
    covariance = np.asarray(
        np.linalg.inv(weighted.T @ looks.terms + np.diag(1 / prior)), np.float64
    )
    return covariance @ (weighted.T @ looks.mean), covariance, precision


def _quadratic(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """`x' M x` of each row x, [n]."""
    return np.asarray(np.einsum("ij,ij->i", rows @ matrix, rows))
