"""A Gaussian process over choices, to which looks are added without starting again."""

from __future__ import annotations

from math import log, pi

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtr

from tabnas.types import FloatArray, IntArray

SHORTLIST = 256


class GaussianProcess:
    """What is believed of the quality of architectures, given looks at some of them.

    Covariances are `exp(-d^2 / (2 length_scale^2))`, d the distance in places within the layers'
    lists of candidates, plus white noise of the variance `noise` on each look, all times the square
    of a `scale`. Scale and mean of the process are the most likely ones, which have a closed form;
    what is answered is in units of the scale, counted from the mean.

    With K the covariance of the looks and L its Cholesky factor, only `L^-1 K(looks, watched)` and
    `L^-1 [y, 1]` are kept: another look adds a row to each, whatever it does to mean and spread.
    """

    def __init__(self, *, length_scale: float, noise: float, layers: int) -> None:
        self.length_scale = length_scale
        self.noise = noise
        self.choices = np.zeros((0, layers), np.int64)
        self.quality = np.zeros(0)
        self._factor = np.zeros((0, 0))  # L, in the corner of a matrix with room to grow
        self._targets = np.zeros((0, 2))  # L^-1 [y, 1]
        self._watched = np.zeros((0, layers), np.int64)
        self._rows = np.zeros((0, 0))  # L^-1 K(looks, watched), with room to grow
        self._explained = np.zeros(0)  # how much of the variance of each watched one is gone
        self._projected = np.zeros((2, 0))  # [y, 1]' K^-1 K(looks, watched)

    @property
    def numbers(self) -> tuple[float, float]:
        """Length scale and noise."""
        return self.length_scale, self.noise

    @property
    def looks(self) -> int:
        """How many looks are taken in."""
        return len(self.quality)

    # --- taking in --------------------------------------------------------------------------------

    def add(self, choices: IntArray, quality: FloatArray) -> None:
        """Take in looks at `choices`, [n, layers]."""
        before, after = self.looks, self.looks + len(quality)
        cross = _forward(self._corner, self.covariance(self.choices, choices))  # [looks, n]
        corner = self.covariance(choices, choices) + self.noise * np.eye(len(quality))
        factor = cholesky(corner - cross.T @ cross, lower=True)

        if after > len(self._factor):
            room = after + after // 2
            self._factor = _enlarged(self._factor, (room, room))
        self._factor[before:after, :before] = cross.T
        self._factor[before:after, before:after] = factor
        targets = np.stack([quality, np.ones(len(quality))], axis=1)
        fresh = _forward(factor, targets - cross.T @ self._targets)
        self._targets = np.concatenate([self._targets, fresh])
        if len(self._watched) > 0:
            between = self.covariance(choices, self._watched)
            between -= cross.T @ self._rows[:before]
            self._extend(before, _forward(factor, between), fresh)
        self.choices = np.concatenate([self.choices, choices])
        self.quality = np.concatenate([self.quality, quality])

    def watch(self, choices: IntArray) -> None:
        """Say from now on what is believed of these, [m, layers]."""
        self._watched = choices
        self._rows = np.zeros((0, len(choices)))
        self._explained = np.zeros(len(choices))
        self._projected = np.zeros((2, len(choices)))
        if self.looks > 0:
            rows = _forward(self._corner, self.covariance(self.choices, choices))
            self._extend(0, rows, self._targets)

    def _extend(self, before: int, rows: FloatArray, targets: FloatArray) -> None:
        after = before + len(rows)
        if after > len(self._rows):
            room = after + after // 2
            self._rows = _enlarged(self._rows, (room, len(self._watched)))
        self._rows[before:after] = rows
        self._explained += np.einsum("nm,nm->m", rows, rows)
        self._projected += targets.T @ rows

    # --- answering --------------------------------------------------------------------------------

    def believed(self) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of the quality of what is watched, [m] each, without the noise."""
        # K(watched, looks) K^-1 (y - mean) / scale
        mean = (self._projected[0] - self.mean * self._projected[1]) / self.scale
        return mean, np.sqrt(np.maximum(1 - self._explained, 1e-12))

    def smoothed(self) -> FloatArray:
        """The mean at the looks themselves, [looks]: their quality less what is deemed noise."""
        weights = solve_triangular(self._corner, self._whitened, lower=True, trans=1)
        return np.asarray((self.quality - self.mean - self.noise * weights) / self.scale)

    def several(self, n: int, best: float, among: IntArray) -> IntArray:
        """Places of n of the watched, each of the largest improvement expected after the others.

        What was chosen is believed to be as good as expected, which leaves means as they are and
        takes away the uncertainty around it. Only a shortlist of the places `among` is kept up to
        date with that.
        """
        mean, deviation = self.believed()
        improvement = expected_improvement(mean[among], deviation[among], best)
        size = min(max(SHORTLIST, n), len(among))
        short = among[np.sort(np.argpartition(-improvement, size - 1)[:size])]
        mean, variance = mean[short], deviation[short] ** 2
        watched = self._watched[short]
        rows = self._rows[: self.looks, short]
        chosen: list[int] = []
        for _ in range(min(n, size)):
            improvement = expected_improvement(mean, np.sqrt(variance), best)
            improvement[chosen] = -1.0
            place = int(np.argmax(improvement))
            chosen.append(place)
            covariance = self.covariance(watched[place : place + 1], watched)[0]
            row = covariance - rows[:, place] @ rows
            row /= np.sqrt(variance[place] + self.noise)
            rows = np.concatenate([rows, row[None]])
            variance = np.maximum(variance - row**2, 1e-12)
            best = max(best, float(mean[place]))
        return np.asarray(short[chosen])

    def log_likelihood(self) -> float:
        """The log-density of the qualities."""
        whitened = self._whitened / self.scale
        # log N(y; m, s^2 K) = -|L^-1 (y - m) / s|^2 / 2 - sum log diag L - n log s - n/2 log 2 pi
        determinant = float(np.log(self._corner.diagonal()).sum())
        constant = self.looks * (log(self.scale) + log(2 * pi) / 2)
        return -float(whitened @ whitened) / 2 - determinant - constant

    def covariance(self, a: IntArray, b: IntArray) -> FloatArray:
        """The covariance of qualities without noise, [len(a), len(b)]."""
        x, y = a / self.length_scale, b / self.length_scale
        # -d^2 / 2 = x.y - x.x / 2 - y.y / 2
        exponent = np.asarray(x @ y.T)
        exponent -= 0.5 * (x**2).sum(axis=1)[:, None]
        exponent -= 0.5 * (y**2).sum(axis=1)
        np.minimum(exponent, 0.0, out=exponent)  # rounding may leave a point nearer than itself
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
        # equal qualities differ from their mean by rounding, which is nothing to learn from
        return scale if scale > 1e-9 * abs(self.mean) else 1.0

    @property
    def _corner(self) -> FloatArray:
        return self._factor[: self.looks, : self.looks]

    @property
    def _whitened(self) -> FloatArray:
        """L^-1 (y - mean), [looks]."""
        return np.asarray(self._targets[:, 0] - self.mean * self._targets[:, 1])


def expected_improvement(mean: FloatArray, deviation: FloatArray, best: float) -> FloatArray:
    """`E[max(Q - best, 0)] = s (z Phi(z) + phi(z))`, `z = (mean - best) / s`."""
    z = (mean - best) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * pi)))


def _forward(factor: FloatArray, right: FloatArray) -> FloatArray:
    """L^-1 times the right side."""
    if len(factor) == 0:
        return right
    return np.asarray(solve_triangular(factor, right, lower=True, check_finite=False))


def _enlarged(array: FloatArray, shape: tuple[int, int]) -> FloatArray:
    enlarged = np.zeros(shape)
    enlarged[: array.shape[0], : array.shape[1]] = array
    return enlarged
