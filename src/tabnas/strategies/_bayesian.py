"""Bayesian optimisation: a Gaussian process, and the largest expected improvement within V."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tabnas.blas import single_threaded_blas
from tabnas.errors import TabnasError, whole
from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture
from tabnas.strategies._batches import BatchStrategy, rows
from tabnas.strategies._drawing import is_listed, unseen
from tabnas.types import IntArray

if TYPE_CHECKING:
    from tabnas.strategies._gaussian_process import GaussianProcess

Recommends = Literal["seen", "model"]

# of equally likely ones the first: rather smooth and noisy than rough
LENGTH_SCALES = (16.0, 8.0, 4.0, 2.0, 1.0)
NOISES = (10.0, 1.0, 1e-1, 1e-2, 1e-3)
LEAST_NOISE = 1e-6  # less than that, and repeated looks leave no covariance to factorise
REFIT = 1.5  # both are looked for again when there are so many times as many looks

POOL = 1_000
"""Members of V that are drawn anew for every batch where V cannot be listed."""

AROUND = 3
"""So many of the best seen, whose neighbours join the pool."""


class BayesianOptimization(BatchStrategy):
    """Looks where a Gaussian process expects the largest improvement, feasible and not yet seen.

    After `initial` members of V, drawn uniformly, it goes by batches of `batch`. The kernel is
    an RBF of `length_scale`, in places within the list of a layer's candidates, with white noise of
    the variance `noise`, in units of the variance of the process. Either is found by likelihood on
    a grid if it is None.

    V is looked through as a whole if it has up to 20,000 members; of a larger one, a pool drawn
    from V and the neighbours of the best seen. `recommend` goes by the quality seen or, with
    `recommends="model"`, by the mean of the process, which noise misleads less.

    NOTE[DIFF]: the paper sets both numbers (1 and 1, say) and does not tell their units, nor how a
    batch is chosen. Here each of a batch is chosen as if the others had turned out as expected.
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
        recommends: Recommends = "seen",
    ) -> None:
        super().__init__(feasible, rng=rng)
        if length_scale is not None and not (isfinite(length_scale) and length_scale > 0):
            raise TabnasError(
                f"length_scale must be positive or None, however {length_scale} was given"
            )
        if noise is not None and not (isfinite(noise) and noise >= LEAST_NOISE):
            raise TabnasError(
                f"noise must be at least {LEAST_NOISE:g} or None, however {noise} was given"
            )
        if recommends not in get_args(Recommends):
            raise TabnasError(
                f"recommends must be 'seen' or 'model', however {recommends!r} was given"
            )
        self.initial = whole("initial", initial, least=1)
        self.batch = whole("batch", batch, least=1)
        self.recommends = recommends
        self._length_scales = LENGTH_SCALES if length_scale is None else (length_scale,)
        self._noises = NOISES if noise is None else (noise,)
        self._refit_at = 0
        self._process: GaussianProcess | None = None
        members = rows(feasible.members) if is_listed(feasible) else []
        self._place_of = {row: place for place, row in enumerate(members)}
        self._unseen = np.ones(len(members), dtype=np.bool_)
        self._crossed_off = 0  # how many of the looks are marked in it

    def plan(self) -> IntArray:
        taken = set(rows(self._choices))
        if self.looks < self.initial:
            planned = unseen(self.feasible, self.initial - self.looks, taken, self.rng)
        else:
            # more threads would add up in another order
            with single_threaded_blas():
                planned = self._most_promising(taken)
        return planned if len(planned) > 0 else self._again()

    def _most_promising(self, taken: set[tuple[int, ...]]) -> IntArray:
        process = self._learned()
        if is_listed(self.feasible):
            pool, left = self.feasible.members, self._left()
        else:
            pool = self._pool(taken)
            left = np.arange(len(pool))
            process.watch(pool)
        if len(left) == 0:
            return pool[left]
        best = float(process.smoothed().max())
        return pool[process.several(self.batch, best, among=left)]

    def recommend(self, n: int = 1) -> list[Architecture]:
        if self.recommends == "seen" or self.looks == 0:
            return super().recommend(n)
        whole("n", n, least=1)
        with single_threaded_blas():
            numbers = self._process.numbers if self._process else self._likeliest()
            mean = self._made(*numbers).smoothed()
        choices, first = np.unique(self._choices, axis=0, return_index=True)
        inside = self.feasible.contains(choices)
        mean = mean[first]  # repeats of an architecture have the same
        best = np.argsort(-mean[inside], kind="stable")[:n]
        return [self.feasible.space.architecture(row) for row in choices[inside][best]]

    # --- the process ------------------------------------------------------------------------------

    def _learned(self) -> GaussianProcess:
        """The process with all looks taken in, its numbers looked for again at times."""
        if self._process is None or self.looks >= self._refit_at:
            self._refit_at = int(REFIT * self.looks) + 1
            numbers = self._likeliest()
            if self._process is None or numbers != self._process.numbers:
                self._process = self._made(*numbers)
                if is_listed(self.feasible):
                    self._process.watch(self.feasible.members)
        known = self._process.looks
        if known < self.looks:
            self._process.add(self._choices[known:], self._quality[known:])
        return self._process

    def _likeliest(self) -> tuple[float, float]:
        """The length scale and the noise of the grid under which the looks are most likely."""
        grid = [(length, noise) for noise in self._noises for length in self._length_scales]
        if len(grid) == 1:
            return grid[0]
        return max(grid, key=lambda numbers: self._made(*numbers).log_likelihood())

    def _made(self, length_scale: float, noise: float) -> GaussianProcess:
        from tabnas.strategies._gaussian_process import GaussianProcess

        process = GaussianProcess(
            length_scale=length_scale, noise=noise, layers=self.feasible.space.depth
        )
        process.add(self._choices, self._quality)
        return process

    # --- where to look ----------------------------------------------------------------------------

    def _left(self) -> IntArray:
        """Places of the members of a listed V that are not seen yet."""
        for row in rows(self._choices[self._crossed_off :]):
            if row in self._place_of:  # not so if someone looked at what is infeasible
                self._unseen[self._place_of[row]] = False
        self._crossed_off = self.looks
        return np.flatnonzero(self._unseen)

    def _pool(self, taken: set[tuple[int, ...]]) -> IntArray:
        """Unseen members of V: some drawn, and all that differ in one layer from the best."""
        choices, quality = self.seen()
        near = [
            np.where(np.arange(len(row)) == layer, candidate, row)
            for row in choices[np.argsort(-quality, kind="stable")[:AROUND]]
            for layer, candidates in enumerate(self.feasible.space.candidates)
            for candidate in range(len(candidates))
        ]
        inside = np.array(near)[self.feasible.contains(np.array(near))]
        drawn = self.feasible.given(rng=self.rng).sample(POOL, self.rng)
        pool = dict.fromkeys(rows(np.concatenate([inside, drawn])))
        fresh = [row for row in pool if row not in taken]
        return np.array(fresh, dtype=np.int64).reshape(-1, self.feasible.space.depth)

    def _again(self) -> IntArray:
        """All of V was seen: the best once more, which tells more of it where looks are noisy."""
        best = self.recommend()
        if best:
            return np.array([self.feasible.space.choices(best[0])])
        return self.feasible.given(rng=self.rng).sample(1, self.rng)
