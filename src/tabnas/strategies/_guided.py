"""Our strategy: evaluates where a model of the qualities expects the largest gain."""

from __future__ import annotations

import numpy as np

from tabnas.blas import single_threaded_blas
from tabnas.errors import check_int
from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture
from tabnas.strategies._batch_strategy import BatchStrategy, to_tuples
from tabnas.strategies._candidate_pool import MAX_ENUMERATED, CandidatePool, sample_unseen
from tabnas.strategies._surrogate import (
    PRIOR,
    Observations,
    PolynomialBasis,
    Surrogate,
    fit_hyperparameters,
)
from tabnas.types import BoolArray, FloatArray, IntArray

REFIT_FACTOR = 1.5
"""Hyperparameters are fitted again after this many times as many evaluations."""

SHORTLIST_SIZE = 1_000
"""The number of promising unseen architectures that are considered for evaluation."""

N_BEST = 5
"""The neighbours of this many of the best architectures join the candidate pool."""

MIN_VARIANCE, MAX_Z = 1e-300, 1e6
"""Bounds that keep `log_gain` finite where a mean is certain."""


class Guided(BatchStrategy):
    """Evaluates where the recommendation is expected to gain most, at new or known architectures.

    A `Surrogate` model learns from all evaluations how quality depends on the widths, how much each
    architecture deviates from that, and how noisy an evaluation is. The next evaluations go where
    the quality of the recommended architecture is expected to rise most. Without noise, that is the
    expected improvement, and evaluations are hardly ever repeated. With noise, the best
    architectures are evaluated again as often as it pays. Neither the scale nor the noise of the
    qualities has to be set.

    The strategy starts with `initial` members of V, drawn uniformly, and `initial_repeats` more
    evaluations of the best of them, which measure the noise. Then it proceeds in batches of
    `batch`. If V has up to `max_enumerated` members, all of them are candidates; else a pool of
    members sampled from V, members sampled near the best by a policy derived from the model, and
    the neighbours of the best. `degree` is the degree of the model's polynomial.

    >>> from tabnas import Budget, SearchSpace
    >>> from tabnas.strategies import optimize
    >>> space = SearchSpace.uniform(layers=3, widths=range(4, 52, 4), inputs=10, outputs=1)
    >>> strategy = Guided(FeasibleSet(space, Budget(dense_parameters=1_000)), rng=0)
    >>> optimize(strategy, lambda choices: np.log1p(choices).sum(axis=1), n_evaluations=40)
    >>> strategy.recommend()  # the best of 503
    [Architecture('28-8-44')]
    """

    name = "guided"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        initial: int = 20,
        initial_repeats: int = 2,
        batch: int = 5,
        degree: int = 3,
        max_enumerated: int = MAX_ENUMERATED,
    ) -> None:
        super().__init__(feasible, rng=rng)
        self.initial = check_int("initial", initial, minimum=1)
        self.initial_repeats = check_int("initial_repeats", initial_repeats, minimum=0)
        self.batch = check_int("batch", batch, minimum=1)
        self._basis = PolynomialBasis(feasible, check_int("degree", degree, minimum=1))
        self._hyperparameters = PRIOR
        self._refit_at = 0
        self._pool = CandidatePool(feasible, check_int("max_enumerated", max_enumerated, minimum=0))
        self._terms = self._basis.terms(self._pool.members)

    def plan(self) -> IntArray:
        if self.n_evaluations < self.initial:
            missing = self.initial - self.n_evaluations
            drawn = sample_unseen(self.feasible, missing, set(to_tuples(self._choices)), self.rng)
            if len(drawn) > 0:
                return drawn
        seen, observations = self._summarize()
        inside = self.feasible.contains(seen)
        if self.initial_repeats > 0 and self.n_evaluations == len(seen) and inside.any():
            return _select_largest(observations.mean[inside], self.initial_repeats, seen[inside])
        with single_threaded_blas():  # more threads would add in another order
            return self._select_batch(seen, observations, inside)

    def _select_batch(
        self, seen: IntArray, observations: Observations, inside: BoolArray
    ) -> IntArray:
        """Return the choices with the largest expected gain by the model."""
        if self.n_evaluations >= self._refit_at:
            self._hyperparameters = fit_hyperparameters(
                self._basis.degrees, observations, self._hyperparameters
            )
            self._refit_at = int(REFIT_FACTOR * self.n_evaluations) + 1
        surrogate = Surrogate(self._basis.degrees, observations, self._hyperparameters)
        known = surrogate.predict_observed()
        others, terms = self._unseen_candidates(surrogate, seen)
        new = surrogate.predict(terms)
        gain = log_gain(
            np.concatenate([known.mean, new.mean]),
            np.concatenate([known.variance, new.variance]),
            best=float(known.mean[inside].max(initial=-np.inf)),
            noise=surrogate.noise,
        )
        gain[: len(seen)][~inside] = -np.inf
        return _select_largest(gain, self.batch, np.concatenate([seen, others]))

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        self._pool.mark(np.asarray(choices)[np.isfinite(quality)])

    def recommend(self, n: int = 1) -> list[Architecture]:
        """Return the n best evaluated architectures by the mean of the model."""
        check_int("n", n, minimum=1)
        if self.n_evaluations == 0:
            return []
        seen, observations = self._summarize()
        with single_threaded_blas():
            # The fit is not stored: a recommendation does not change what the search does next.
            fitted = fit_hyperparameters(self._basis.degrees, observations, self._hyperparameters)
            mean = Surrogate(self._basis.degrees, observations, fitted).predict_observed().mean
        inside = self.feasible.contains(seen)
        best = _select_largest(mean[inside], n, seen[inside])
        return [self.feasible.architecture(row) for row in best]

    def _summarize(self) -> tuple[IntArray, Observations]:
        """Return the distinct evaluated choices, [n, layers], and their observations."""
        seen, index = np.unique(self._choices, axis=0, return_inverse=True)
        index = index.reshape(-1)
        repeats = np.bincount(index)
        mean = np.bincount(index, self._quality) / repeats
        scatter = float(((self._quality - mean[index]) ** 2).sum())
        return seen, Observations(self._basis.terms(seen), mean, repeats, scatter)

    # --- candidates for a first evaluation --------------------------------------------------------

    def _unseen_candidates(
        self, surrogate: Surrogate, seen: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """Return promising architectures that were not evaluated, and their terms."""
        if not self._pool.is_enumerated:
            sampled = self._sample_pool(surrogate, seen)
            return sampled, self._basis.terms(sampled)
        unseen = np.flatnonzero(self._pool.unseen)
        if len(unseen) > SHORTLIST_SIZE:
            mean = surrogate.polynomial(self._terms)[unseen]
            unseen = unseen[np.argpartition(-mean, SHORTLIST_SIZE)[:SHORTLIST_SIZE]]
        return self._pool.members[unseen], self._terms[unseen]

    def _sample_pool(self, surrogate: Surrogate, seen: IntArray) -> IntArray:
        best = _select_largest(surrogate.predict_observed().mean, N_BEST, seen)
        near = np.concatenate([self._pool.neighbours(row) for row in best])
        # a policy that prefers in each layer what the model prefers, given the best's other layers
        mask = self.feasible.space.mask
        logits = np.full(mask.shape, -np.inf)
        logits[mask] = surrogate.polynomial(self._basis.terms(self._pool.neighbours(best[0])))
        return self._pool.sample(near, [None, logits / surrogate.residual], seen, self.rng)


def log_gain(mean: FloatArray, variance: FloatArray, *, best: float, noise: float) -> FloatArray:
    """Return the log of how much an evaluation of each is expected to raise the best mean, [n].

    An evaluation moves a mean by a normal step whose standard deviation is
    `variance / sqrt(variance + noise)`. Without noise this is the log of the expected improvement.
    """
    from scipy.special import erfcx, ndtr

    step = np.maximum(variance, MIN_VARIANCE) / np.sqrt(np.maximum(variance, MIN_VARIANCE) + noise)
    z = np.clip((mean - best) / step, -MAX_Z, MAX_Z)
    # E max(0, z + N(0, 1)) = phi(z) + z Phi(z), far below 0 as phi(z) (1 + z Phi(z) / phi(z))
    low = np.minimum(z, -1.0)
    tail = np.where(low < -1e3, 1 / low**2, 1 + low * np.sqrt(np.pi / 2) * erfcx(-low / np.sqrt(2)))
    below = np.log(tail) - low**2 / 2
    high = np.maximum(z, -1.0)
    above = np.log(np.exp(-(high**2) / 2) + high * np.sqrt(2 * np.pi) * ndtr(high))
    return np.asarray(np.log(step) + np.where(z < -1.0, below, above))


def _select_largest(values: FloatArray, n: int, choices: IntArray) -> IntArray:
    """Return the n choices of the largest values, largest first."""
    return choices[np.argsort(-values, kind="stable")[:n]]
