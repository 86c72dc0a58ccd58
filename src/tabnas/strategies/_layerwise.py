"""Layer by layer: for each share of the budget, the best beginning is kept (after LayerNAS)."""

from __future__ import annotations

import numpy as np

from tabnas.errors import whole
from tabnas.feasible import FeasibleSet
from tabnas.strategies._batches import BatchStrategy, rows
from tabnas.strategies._drawing import unseen
from tabnas.types import IntArray

Beginning = tuple[int, ...]

CHECKED = 32
"""Completions whose feasibility is checked at a time: a cost of the user's own may be slow."""


class Layerwise(BatchStrategy):
    """Dynamic programming over layers, costs in buckets, as LayerNAS (Fan et al. 2023) does it.

    A beginning is a choice for each of the first layers. Every kept beginning goes on with every
    candidate of the next layer, is completed and looked at; then, in each of `buckets` classes of
    what the beginning costs by itself, the `keep` best are kept. After the last layer a new pass
    begins.

    NOTE[DIFF]: LayerNAS completes with a default option and drops what misses a range of costs.
    With a hard limit we complete a beginning with the member of V that is nearest to a *base*, so
    that all looks are at feasible architectures: first the widest of all, in later passes the
    best seen or, once that brings nothing new, an unseen member of V. LayerNAS also draws which
    candidates to try in a layer; here all are, in order, so that the first pass is not random.

    Where V is known by samples only, its member nearest to the base is not known. A beginning is
    then completed with the ending of the base, of the narrowest architecture or of a sampled member
    of V, whichever is nearest to the base and feasible.
    """

    name = "layerwise"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        buckets: int = 5,
        keep: int = 1,
    ) -> None:
        super().__init__(feasible, rng=rng)
        self.buckets = whole("buckets", buckets, least=1)
        self.keep = whole("keep", keep, least=1)
        space = feasible.space
        self._base = np.array([len(layer) - 1 for layer in space.candidates])
        self._bases = {tuple(self._base.tolist())}
        self._begin([()])

    def plan(self) -> IntArray:
        choices, quality = self.seen()
        known = dict(zip(rows(choices), quality.tolist(), strict=True))
        while True:
            missing = [full for full in self._completed.values() if full not in known]
            if missing:
                return np.array(missing)
            layers = len(next(iter(self._completed)))
            if layers < self.feasible.space.depth:
                self._begin(self._kept(known))
                continue
            base = self._next_base(known)
            if base is None:  # all of V was seen: the best again
                return np.array([max(known, key=lambda full: known[full])])
            self._base = np.array(base)
            self._begin([()])

    def _begin(self, beginnings: list[Beginning]) -> None:
        """Go on with every candidate of the next layer; keep those that V has a completion for."""
        layer = len(beginnings[0])
        candidates = range(len(self.feasible.space.candidates[layer]))
        longer = [(*beginning, choice) for beginning in beginnings for choice in candidates]
        completed = {beginning: self._complete(beginning) for beginning in longer}
        self._completed = {k: full for k, full in completed.items() if full is not None}

    def _complete(self, beginning: Beginning) -> Beginning | None:
        """The feasible architecture that begins so and is nearest to the base; None if none is."""
        if not self.feasible.exact:
            return self._complete_by_samples(beginning)
        space = self.feasible.space
        # the more places from the base, the less likely; other beginnings not at all
        logits = -np.abs(np.arange(space.max_choices) - self._base[:, None]).astype(np.float64)
        for layer, choice in enumerate(beginning):
            logits[layer] = np.where(np.arange(space.max_choices) == choice, 0.0, -np.inf)
        given = self.feasible.given(logits, rng=self.rng)
        if np.isneginf(given.log_probability):
            return None
        return given.most_likely(1)[0]

    def _complete_by_samples(self, beginning: Beginning) -> Beginning | None:
        """The nearest to the base with an ending that is known; None if none of them is feasible.

        Every sampled member of V is found from each of its beginnings, and so is the base if it is
        feasible. A completion, too, is found again from beginnings that are longer.
        """
        layers = len(beginning)
        narrowest = np.zeros_like(self._base)
        full = np.vstack([self._base, narrowest, self.feasible.sampled_members])
        full[:, :layers] = beginning
        full = np.unique(full, axis=0)
        nearest = full[np.argsort(np.abs(full - self._base).sum(axis=1), kind="stable")]
        for start in range(0, len(nearest), CHECKED):
            some = nearest[start : start + CHECKED]
            inside = self.feasible.contains(some)
            if inside.any():
                return rows(some[inside])[0]
        return None

    def _kept(self, known: dict[Beginning, float]) -> list[Beginning]:
        """The best beginnings of each bucket; equal steps between the cheapest and the dearest."""
        beginnings = [*self._completed]
        alone = np.zeros((len(beginnings), self.feasible.space.depth), np.int64)
        alone[:, : len(beginnings[0])] = beginnings  # all other layers as narrow as can be
        loads = self.feasible.load(alone)
        span = float(np.ptp(loads)) or 1.0
        bucket = np.minimum((loads - loads.min()) / span * self.buckets, self.buckets - 1)
        of_bucket: dict[int, list[Beginning]] = {}
        best_first = sorted(beginnings, key=lambda b: known[self._completed[b]], reverse=True)
        places = dict(zip(beginnings, bucket.astype(int).tolist(), strict=True))
        for beginning in best_first:
            of_bucket.setdefault(places[beginning], []).append(beginning)
        return [beginning for kept in of_bucket.values() for beginning in kept[: self.keep]]

    def _next_base(self, known: dict[Beginning, float]) -> Beginning | None:
        best = max(known, key=lambda full: known[full])
        if best not in self._bases:
            self._bases.add(best)
            return best
        drawn = rows(unseen(self.feasible, 1, known, self.rng))
        return drawn[0] if drawn else None
