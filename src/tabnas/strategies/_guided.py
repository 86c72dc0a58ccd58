"""Ours: looks where they are worth most, by a model of the qualities seen so far."""

from __future__ import annotations

import numpy as np

from tabnas.errors import whole
from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture
from tabnas.strategies._batches import BatchStrategy, rows
from tabnas.strategies._drawing import LISTED, unseen
from tabnas.strategies._surrogate import PRIOR, Looks, Surface, Surrogate, likeliest
from tabnas.types import FloatArray, IntArray

REFIT = 1.5
"""The model's numbers are found again when there are so many times as many looks."""

SHORTLIST = 1_000
"""So many of the most promising unseen architectures are considered for a look."""

POOL = 1_000
"""Where V is not listed: members drawn from V, and as many drawn around the best."""

AROUND = 5
"""So many of the best seen, whose neighbours join the pool."""

TINY, FAR = 1e-300, 1e6
"""What keeps `log_gain` finite where a mean is certain."""


class Guided(BatchStrategy):
    """Looks where the answer is expected to gain most, at new architectures or again at known ones.

    A model (`Surrogate`) learns from all looks how quality depends on the widths, how much each
    architecture departs from that, and how noisy a look is. The next looks go where the quality of
    what would be recommended is expected to rise most. Where looks are noiseless that is the
    expected improvement, and looks are hardly ever repeated; where they are noisy the best are
    looked at again as often as it pays. Nothing has to be set, neither the scale nor the noise of
    the qualities.

    It begins with `initial` members of V, drawn uniformly, and `again` looks at the best of them,
    which tell the noise; then it goes by batches of `batch`. V is considered as a whole if it has
    up to `listed` members; of a larger one a pool: members drawn from V, members drawn around the
    best by a policy of the model's making, and the neighbours of the best. `degree` is that of the
    model's surface.

    >>> from tabnas import Budget, SearchSpace
    >>> from tabnas.strategies import explore
    >>> space = SearchSpace.uniform(layers=3, widths=range(4, 52, 4), inputs=10, outputs=1)
    >>> strategy = Guided(FeasibleSet(space, Budget(dense_parameters=1_000)), rng=0)
    >>> explore(strategy, lambda choices: np.log1p(choices).sum(axis=1), looks=40)  # of 503
    >>> strategy.recommend()
    [Architecture('28-8-44')]
    """

    name = "tabnas"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        initial: int = 20,
        again: int = 2,
        batch: int = 5,
        degree: int = 3,
        listed: int = LISTED,
    ) -> None:
        super().__init__(feasible, rng=rng)
        self.initial = whole("initial", initial, least=1)
        self.again = whole("again", again, least=0)
        self.batch = whole("batch", batch, least=1)
        self._surface = Surface(feasible, whole("degree", degree, least=1))
        self._numbers = PRIOR
        self._fit_at = 0
        small = feasible.exact and feasible.count() <= whole("listed", listed, least=0)
        self._members = feasible.members if small else np.zeros((0, feasible.space.depth), np.int64)
        self._terms = self._surface.terms(self._members)
        self._place = {row: place for place, row in enumerate(rows(self._members))}
        self._fresh = np.ones(len(self._members), dtype=np.bool_)

    def plan(self) -> IntArray:
        if self.looks < self.initial:
            taken = set(rows(self._choices))
            drawn = unseen(self.feasible, self.initial - self.looks, taken, self.rng)
            if len(drawn) > 0:
                return drawn
        seen, looks = self._seen_looks()
        inside = self.feasible.contains(seen)
        if self.again > 0 and self.looks == len(seen) and inside.any():
            return _largest(looks.mean[inside], self.again, seen[inside])
        if self.looks >= self._fit_at:
            self._numbers = likeliest(self._surface.degrees, looks, self._numbers)
            self._fit_at = int(REFIT * self.looks) + 1
        surrogate = Surrogate(self._surface.degrees, looks, self._numbers)
        known = surrogate.of_seen()
        others, terms = self._others(surrogate, seen)
        new = surrogate.of_unseen(terms)
        gain = log_gain(
            np.concatenate([known.mean, new.mean]),
            np.concatenate([known.variance, new.variance]),
            best=float(known.mean[inside].max(initial=-np.inf)),
            noise=surrogate.noise,
        )
        gain[: len(seen)][~inside] = -np.inf
        return _largest(gain, self.batch, np.concatenate([seen, others]))

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        for row in rows(np.asarray(choices)[np.isfinite(quality)]):
            if row in self._place:
                self._fresh[self._place[row]] = False

    def recommend(self, n: int = 1) -> list[Architecture]:
        """The n best of those seen, by what the model believes of them."""
        whole("n", n, least=1)
        if self.looks == 0:
            return []
        seen, looks = self._seen_looks()
        # the numbers as they would be found now, and not kept: an answer leaves the search as it is
        numbers = likeliest(self._surface.degrees, looks, self._numbers)
        mean = Surrogate(self._surface.degrees, looks, numbers).of_seen().mean
        inside = self.feasible.contains(seen)
        best = _largest(mean[inside], n, seen[inside])
        return [self.feasible.space.architecture(row) for row in best]

    def _seen_looks(self) -> tuple[IntArray, Looks]:
        """The architectures looked at, each once, [n, layers], and what was seen of them."""
        seen, place = np.unique(self._choices, axis=0, return_inverse=True)
        place = place.reshape(-1)
        number = np.bincount(place)
        mean = np.bincount(place, self._quality) / number
        scatter = float(((self._quality - mean[place]) ** 2).sum())
        return seen, Looks(self._surface.terms(seen), mean, number, scatter)

    # --- what could be looked at for the first time -----------------------------------------------

    def _others(self, surrogate: Surrogate, seen: IntArray) -> tuple[IntArray, FloatArray]:
        """Promising architectures that were not looked at, and their terms."""
        if len(self._members) == 0:
            pool = self._pool(surrogate, seen)
            return pool, self._surface.terms(pool)
        places = np.flatnonzero(self._fresh)
        if len(places) > SHORTLIST:
            level = surrogate.level(self._terms)[places]
            places = places[np.argpartition(-level, SHORTLIST)[:SHORTLIST]]
        return self._members[places], self._terms[places]

    def _pool(self, surrogate: Surrogate, seen: IntArray) -> IntArray:
        """Of a V that is not listed."""
        best = _largest(surrogate.of_seen().mean, AROUND, seen)
        near = np.concatenate([self._neighbours(row) for row in best])
        # a policy that prefers in each layer what the model prefers there, all else as in the best
        space = self.feasible.space
        logits = np.full(space.mask.shape, -np.inf)
        logits[space.mask] = surrogate.level(self._surface.terms(self._neighbours(best[0])))
        drawn = [
            self.feasible.given(policy, rng=self.rng).sample(POOL, self.rng)
            for policy in (None, logits / surrogate.own)
        ]
        found = np.concatenate([near[self.feasible.contains(near)], *drawn])
        taken = set(rows(seen))
        fresh = [row for row in dict.fromkeys(rows(found)) if row not in taken]
        return np.array(fresh, dtype=np.int64).reshape(-1, space.depth)

    def _neighbours(self, choices: IntArray) -> IntArray:
        """What differs in one layer at most, by layer and candidate, [candidates, layers]."""
        layers, candidates = np.nonzero(self.feasible.space.mask)
        changed = np.repeat(choices[None], len(layers), axis=0)
        changed[np.arange(len(layers)), layers] = candidates
        return changed


def log_gain(mean: FloatArray, variance: FloatArray, *, best: float, noise: float) -> FloatArray:
    """How much a look at each is expected to raise the best mean, as a logarithm, [n].

    A look moves a mean by a normal step whose standard deviation is `variance / sqrt(variance +
    noise)`. Without noise this is the logarithm of the expected improvement.
    """
    from scipy.special import erfcx, ndtr

    step = np.maximum(variance, TINY) / np.sqrt(np.maximum(variance, TINY) + noise)
    z = np.clip((mean - best) / step, -FAR, FAR)
    # E max(0, z + N(0, 1)) = phi(z) + z Phi(z), far below 0 as phi(z) (1 + z Phi(z) / phi(z))
    low = np.minimum(z, -1.0)
    tail = np.where(low < -1e3, 1 / low**2, 1 + low * np.sqrt(np.pi / 2) * erfcx(-low / np.sqrt(2)))
    below = np.log(tail) - low**2 / 2
    high = np.maximum(z, -1.0)
    above = np.log(np.exp(-(high**2) / 2) + high * np.sqrt(2 * np.pi) * ndtr(high))
    return np.asarray(np.log(step) + np.where(z < -1.0, below, above))


def _largest(values: FloatArray, n: int, choices: IntArray) -> IntArray:
    """The n choices of the largest values, largest first."""
    return choices[np.argsort(-values, kind="stable")[:n]]
