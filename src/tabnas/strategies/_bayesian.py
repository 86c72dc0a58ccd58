"""Bayesian optimization: a Gaussian process and the expected improvement within V."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tabnas.blas import single_threaded_blas
from tabnas.errors import TabNASError, check_int
from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture
from tabnas.strategies._batch_strategy import BatchStrategy, to_tuples
from tabnas.strategies._candidate_pool import CandidatePool, sample_unseen
from tabnas.types import FloatArray, IntArray

if TYPE_CHECKING:
    from tabnas.strategies._gaussian_process import GaussianProcess

RecommendBy = Literal["seen", "model"]

# Of equally likely values the first one is taken: smooth and noisy before rough.
LENGTH_SCALES = (16.0, 8.0, 4.0, 2.0, 1.0)
NOISES = (10.0, 1.0, 1e-1, 1e-2, 1e-3)
MIN_NOISE = 1e-6  # below it, the covariance of repeated evaluations has no Cholesky factor
REFIT_FACTOR = 1.5  # hyperparameters are fitted again after this many times as many evaluations

N_BEST = 3
"""The neighbours of this many of the best architectures join the candidate pool."""


class BayesianOptimization(BatchStrategy):
    """Evaluates the unseen feasible architectures of the largest expected improvement.

    After `initial` members of V, drawn uniformly, it proceeds in batches of `batch`. The kernel is
    an RBF with `length_scale`, where distances are differences of the indices into a layer's
    candidates, plus white noise of the variance `noise`, in units of the variance of the process.
    If one of the two is None, it is fitted by maximum likelihood on a grid.

    If V has up to 20,000 members, all of them are candidates; else a pool sampled from V and the
    neighbours of the best ones. `recommend` uses the mean quality seen or, with
    `recommend_by="model"`, the mean of the process, which is less affected by noise.

    NOTE[DIFF]: the paper sets both hyperparameters (for example 1 and 1), but states neither their
    units nor how it selects a batch. Here each member of a batch is selected as if the others had
    turned out as expected.
    """

    name = "bayesian"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        initial: int = 20,
        batch: int = 5,
        length_scale: float | None = None,
        noise: float | None = None,
        recommend_by: RecommendBy = "seen",
    ) -> None:
        super().__init__(feasible, rng=rng)
        if length_scale is not None and not (isfinite(length_scale) and length_scale > 0):
            raise TabNASError(f"`length_scale` must be positive or None, got {length_scale}")
        if noise is not None and not (isfinite(noise) and noise >= MIN_NOISE):
            raise TabNASError(f"`noise` must be at least {MIN_NOISE:g} or None, got {noise}")
        if recommend_by not in get_args(RecommendBy):
            raise TabNASError(f"`recommend_by` must be 'seen' or 'model', got {recommend_by!r}")
        self.initial = check_int("initial", initial, minimum=1)
        self.batch = check_int("batch", batch, minimum=1)
        self.recommend_by = recommend_by
        self._length_scales = LENGTH_SCALES if length_scale is None else (length_scale,)
        self._noises = NOISES if noise is None else (noise,)
        self._refit_at = 0
        self._process: GaussianProcess | None = None
        self._pool = CandidatePool(feasible)

    def plan(self) -> IntArray:
        if self.n_evaluations < self.initial:
            seen = set(to_tuples(self._choices))
            planned = sample_unseen(
                self.feasible, self.initial - self.n_evaluations, seen, self.rng
            )
        else:
            # more threads would add in another order
            with single_threaded_blas():
                planned = self._select_batch()
        return planned if len(planned) > 0 else self._repeat_best()

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        self._pool.mark(np.asarray(choices)[np.isfinite(quality)])

    def recommend(self, n: int = 1) -> list[Architecture]:
        if self.recommend_by == "seen" or self.n_evaluations == 0:
            return super().recommend(n)
        check_int("n", n, minimum=1)
        with single_threaded_blas():
            fitted = self._process.hyperparameters if self._process else self._fit()
            mean = self._build_process(*fitted).predict_observed()
        choices, first = np.unique(self._choices, axis=0, return_index=True)
        inside = self.feasible.contains(choices)
        mean = mean[first]  # repeats of an architecture have the same mean
        best = np.argsort(-mean[inside], kind="stable")[:n]
        return [self.feasible.architecture(row) for row in choices[inside][best]]

    # --- the process ------------------------------------------------------------------------------

    def _update_process(self) -> GaussianProcess:
        """Return the process with all evaluations, and fit its hyperparameters again at times."""
        if self._process is None or self.n_evaluations >= self._refit_at:
            self._refit_at = int(REFIT_FACTOR * self.n_evaluations) + 1
            fitted = self._fit()
            if self._process is None or fitted != self._process.hyperparameters:
                self._process = self._build_process(*fitted)
                if self._pool.is_enumerated:
                    self._process.set_candidates(self._pool.members)
        known = self._process.n_observations
        if known < self.n_evaluations:
            self._process.add(self._choices[known:], self._quality[known:])
        return self._process

    def _fit(self) -> tuple[float, float]:
        """Return the length scale and the noise of the largest likelihood on the grid."""
        grid = [(length, noise) for noise in self._noises for length in self._length_scales]
        if len(grid) == 1:
            return grid[0]
        return max(grid, key=lambda values: self._build_process(*values).log_likelihood())

    def _build_process(self, length_scale: float, noise: float) -> GaussianProcess:
        from tabnas.strategies._gaussian_process import GaussianProcess

        process = GaussianProcess(
            length_scale=length_scale, noise=noise, layers=len(self.feasible.space.layers)
        )
        process.add(self._choices, self._quality)
        return process

    # --- candidates -------------------------------------------------------------------------------

    def _select_batch(self) -> IntArray:
        process = self._update_process()
        if self._pool.is_enumerated:
            candidates, unseen = self._pool.members, np.flatnonzero(self._pool.unseen)
        else:
            candidates = self._sample_pool()
            unseen = np.arange(len(candidates))
            process.set_candidates(candidates)
        if len(unseen) == 0:
            return candidates[unseen]
        best = float(process.predict_observed().max())
        return candidates[process.select_batch(self.batch, best, among=unseen)]

    def _sample_pool(self) -> IntArray:
        choices, quality = self.mean_qualities()
        best = choices[np.argsort(-quality, kind="stable")[:N_BEST]]
        near = np.concatenate([self._pool.neighbours(row) for row in best])
        return self._pool.sample(near, [None], self._choices, self.rng)

    def _repeat_best(self) -> IntArray:
        """Return the best architecture for another evaluation, which helps against noise.

        Called when all of V was evaluated.
        """
        best = self.recommend()
        if best:
            return np.array([self.feasible.space.choices(best[0])])
        return self.feasible.condition(rng=self.rng).sample(1, self.rng)
