"""A Gaussian process over choices that takes new observations without refactorizing."""

from __future__ import annotations

from math import log, pi

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtr

from tabnas.types import FloatArray, IntArray

SHORTLIST_SIZE = 256
"""The number of candidates whose expected improvement is updated while a batch is selected."""


class GaussianProcess:
    """The posterior of the quality of architectures, given noisy observations of some of them.

    Covariances are `exp(-d^2 / (2 length_scale^2))`, where d is the distance between the indices
    into the candidates of each layer, plus white noise of the variance `noise` on each observation,
    all times the square of a `scale`. Scale and mean of the process are the most likely ones, which
    have a closed form. Predictions are in units of the scale, relative to the mean.

    X are the observed choices and K their covariance with the Cholesky factor L. Only
    `L^-1 K(X, candidates)` and `L^-1 [y, 1]` are stored: a new observation adds a row to each,
    whatever it changes in mean and scale.
    """

    def __init__(self, *, length_scale: float, noise: float, layers: int) -> None:
        self.length_scale = length_scale
        self.noise = noise
        self.choices = np.zeros((0, layers), np.int64)
        self.quality = np.zeros(0)
        self._factor = np.zeros((0, 0))  # L, in the corner of a matrix with space to grow
        self._targets = np.zeros((0, 2))  # L^-1 [y, 1]
        self._candidates = np.zeros((0, layers), np.int64)
        self._rows = np.zeros((0, 0))  # L^-1 K(X, candidates), with space to grow
        self._explained = np.zeros(0)  # the variance of each candidate that is explained
        self._projected = np.zeros((2, 0))  # [y, 1]' K^-1 K(X, candidates)

    @property
    def hyperparameters(self) -> tuple[float, float]:
        """Length scale and noise."""
        return self.length_scale, self.noise

    @property
    def n_observations(self) -> int:
        """The number of observations."""
        return len(self.quality)

    # --- observations and candidates --------------------------------------------------------------

    def add(self, choices: IntArray, quality: FloatArray) -> None:
        """Add observations of `choices`, [n, layers]."""
        before, after = self.n_observations, self.n_observations + len(quality)
        cross = _solve_lower(
            self._cholesky, self.covariance(self.choices, choices)
        )  # [n_observations, n]
        corner = self.covariance(choices, choices) + self.noise * np.eye(len(quality))
        factor = cholesky(corner - cross.T @ cross, lower=True)

        if after > len(self._factor):
            size = after + after // 2
            self._factor = _enlarge(self._factor, (size, size))
        self._factor[before:after, :before] = cross.T
        self._factor[before:after, before:after] = factor
        targets = np.stack([quality, np.ones(len(quality))], axis=1)
        fresh = _solve_lower(factor, targets - cross.T @ self._targets)
        self._targets = np.concatenate([self._targets, fresh])
        if len(self._candidates) > 0:
            between = self.covariance(choices, self._candidates)
            between -= cross.T @ self._rows[:before]
            self._extend(before, _solve_lower(factor, between), fresh)
        self.choices = np.concatenate([self.choices, choices])
        self.quality = np.concatenate([self.quality, quality])

    def set_candidates(self, choices: IntArray) -> None:
        """Set the choices, [m, layers], that `predict` and `select_batch` are about."""
        self._candidates = choices
        self._rows = np.zeros((0, len(choices)))
        self._explained = np.zeros(len(choices))
        self._projected = np.zeros((2, len(choices)))
        if self.n_observations > 0:
            rows = _solve_lower(self._cholesky, self.covariance(self.choices, choices))
            self._extend(0, rows, self._targets)

    def _extend(self, before: int, rows: FloatArray, targets: FloatArray) -> None:
        after = before + len(rows)
        if after > len(self._rows):
            size = after + after // 2
            self._rows = _enlarge(self._rows, (size, len(self._candidates)))
        self._rows[before:after] = rows
        self._explained += np.einsum("nm,nm->m", rows, rows)
        self._projected += targets.T @ rows

    # --- predictions ------------------------------------------------------------------------------

    def predict(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the candidates, [m] each, without the noise."""
        # K(candidates, X) K^-1 (y - mean) / scale
        mean = (self._projected[0] - self.mean * self._projected[1]) / self.scale
        return mean, np.sqrt(np.maximum(1 - self._explained, 1e-12))

    def predict_observed(self) -> FloatArray:
        """Return the posterior mean at the observed choices, [n_observations]."""
        weights = solve_triangular(self._cholesky, self._whitened, lower=True, trans=1)
        return np.asarray((self.quality - self.mean - self.noise * weights) / self.scale)

    def select_batch(self, n: int, best: float, among: IntArray) -> IntArray:
        """Return the indices of n candidates, each of the largest expected improvement.

        After each selection, its quality is assumed to be its mean. This keeps all means and
        reduces the variance around it. Only a shortlist of the indices `among` is updated.
        """
        mean, deviation = self.predict()
        improvement = expected_improvement(mean[among], deviation[among], best)
        size = min(max(SHORTLIST_SIZE, n), len(among))
        short = among[np.sort(np.argpartition(-improvement, size - 1)[:size])]
        mean, variance = mean[short], deviation[short] ** 2
        candidates = self._candidates[short]
        rows = self._rows[: self.n_observations, short]
        chosen: list[int] = []
        for _ in range(min(n, size)):
            improvement = expected_improvement(mean, np.sqrt(variance), best)
            improvement[chosen] = -1.0
            index = int(np.argmax(improvement))
            chosen.append(index)
            covariance = self.covariance(candidates[index : index + 1], candidates)[0]
            row = covariance - rows[:, index] @ rows
            row /= np.sqrt(variance[index] + self.noise)
            rows = np.concatenate([rows, row[None]])
            variance = np.maximum(variance - row**2, 1e-12)
            best = max(best, float(mean[index]))
        return np.asarray(short[chosen])

    def log_likelihood(self) -> float:
        """Return the log-likelihood of the qualities."""
        whitened = self._whitened / self.scale
        # log N(y; m, s^2 K) = -|L^-1 (y - m) / s|^2 / 2 - sum log diag L - n log s - n/2 log 2 pi
        determinant = float(np.log(self._cholesky.diagonal()).sum())
        constant = self.n_observations * (log(self.scale) + log(2 * pi) / 2)
        return -float(whitened @ whitened) / 2 - determinant - constant

    def covariance(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return the covariance of qualities without noise, [len(a), len(b)]."""
        x, y = a / self.length_scale, b / self.length_scale
        # -d^2 / 2 = x.y - x.x / 2 - y.y / 2
        exponent = np.asarray(x @ y.T)
        exponent -= 0.5 * (x**2).sum(axis=1)[:, None]
        exponent -= 0.5 * (y**2).sum(axis=1)
        np.minimum(exponent, 0.0, out=exponent)  # rounding may make a squared distance negative
        np.exp(exponent, out=exponent)
        return exponent

    @property
    def mean(self) -> float:
        """The most likely mean of the process, `1' K^-1 y / 1' K^-1 1`."""
        quality, ones = self._targets.T
        return float(ones @ quality / (ones @ ones))

    @property
    def scale(self) -> float:
        """The most likely scale of the process, `sqrt((y - mean)' K^-1 (y - mean) / n)`."""
        scale = float(np.sqrt((self._whitened**2).mean()))
        # equal qualities differ from their mean by rounding only
        return scale if scale > 1e-9 * abs(self.mean) else 1.0

    @property
    def _cholesky(self) -> FloatArray:
        return self._factor[: self.n_observations, : self.n_observations]

    @property
    def _whitened(self) -> FloatArray:
        """L^-1 (y - mean), [n_observations]."""
        return np.asarray(self._targets[:, 0] - self.mean * self._targets[:, 1])


def expected_improvement(mean: FloatArray, deviation: FloatArray, best: float) -> FloatArray:
    """`E[max(Q - best, 0)] = s (z Phi(z) + phi(z))`, `z = (mean - best) / s`."""
    z = (mean - best) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * pi)))


def _solve_lower(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Return L^-1 times the right side."""
    if len(factor) == 0:
        return right
    return np.asarray(solve_triangular(factor, right, lower=True, check_finite=False))


def _enlarge(array: FloatArray, shape: tuple[int, int]) -> FloatArray:
    enlarged = np.zeros(shape)
    enlarged[: array.shape[0], : array.shape[1]] = array
    return enlarged
