"""Layer by layer: keeps the best prefixes for each share of the budget (after LayerNAS)."""

from __future__ import annotations

import numpy as np

from tabnas.errors import check_int
from tabnas.feasible import FeasibleSet
from tabnas.strategies._batch_strategy import BatchStrategy, to_tuples
from tabnas.strategies._candidate_pool import sample_unseen
from tabnas.types import IntArray

Prefix = tuple[int, ...]

CHECK_CHUNK = 32
"""Completions whose feasibility is checked at a time, since a custom cost may be slow."""


class Layerwise(BatchStrategy):
    """Dynamic programming over layers with bucketed costs, after LayerNAS (Fan et al. 2023).

    A prefix is a choice for each of the first layers. Every prefix is extended by every candidate
    of the next layer, completed and evaluated. Then prefixes are sorted by their cost into
    `buckets`, and the `keep` best of each bucket are extended further. After the last layer, a new
    pass starts.

    NOTE[DIFF]: LayerNAS completes with a default option and drops architectures outside a range of
    costs. With a hard limit we complete a prefix with the member of V nearest to a *base*, so that
    only feasible architectures are evaluated. The base is the widest architecture in the first
    pass, later the best one seen or, once that was a base, an unseen member of V. LayerNAS also
    samples the candidates to try in a layer; here all are tried in order, so the first pass is not
    random.

    Where V is estimated from samples, its member nearest to the base is unknown. A prefix is then
    completed by the last layers of the base, of the narrowest architecture or of a sampled member
    of V, whichever is feasible and nearest to the base.
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
        self.buckets = check_int("buckets", buckets, minimum=1)
        self.keep = check_int("keep", keep, minimum=1)
        space = feasible.space
        self._base = np.array([len(layer) - 1 for layer in space.layers])
        self._bases = {tuple(self._base.tolist())}
        self._extend([()])

    def plan(self) -> IntArray:
        choices, quality = self.mean_qualities()
        known = dict(zip(to_tuples(choices), quality.tolist(), strict=True))
        while True:
            missing = [full for full in self._completions.values() if full not in known]
            if missing:
                return np.array(missing)
            layers = len(next(iter(self._completions)))
            if layers < len(self.feasible.space.layers):
                self._extend(self._select_prefixes(known))
                continue
            base = self._next_base(known)
            if base is None:  # all of V was evaluated: repeat the best
                return np.array([max(known, key=lambda full: known[full])])
            self._base = np.array(base)
            self._extend([()])

    def _extend(self, prefixes: list[Prefix]) -> None:
        """Extend prefixes by every candidate of the next layer, and complete them within V."""
        layer = len(prefixes[0])
        candidates = range(len(self.feasible.space.layers[layer]))
        longer = [(*prefix, choice) for prefix in prefixes for choice in candidates]
        completions = {prefix: self._complete(prefix) for prefix in longer}
        self._completions = {k: full for k, full in completions.items() if full is not None}

    def _complete(self, prefix: Prefix) -> Prefix | None:
        """Return the feasible architecture with this prefix nearest to the base, or None."""
        if not self.feasible.is_exact:
            return self._complete_from_samples(prefix)
        space = self.feasible.space
        # the farther from the base, the less likely; other prefixes have the probability 0
        logits = -np.abs(np.arange(space.max_choices) - self._base[:, None]).astype(np.float64)
        for layer, choice in enumerate(prefix):
            logits[layer] = np.where(np.arange(space.max_choices) == choice, 0.0, -np.inf)
        conditional = self.feasible.condition(logits, rng=self.rng)
        if np.isneginf(conditional.log_probability):
            return None
        return conditional.most_likely(1)[0]

    def _complete_from_samples(self, prefix: Prefix) -> Prefix | None:
        """Return the completion nearest to the base whose last layers are known, or None.

        Every sampled member of V, and the base if it is feasible, is a completion of each of its
        prefixes. A completion is also found again from its longer prefixes.
        """
        layers = len(prefix)
        narrowest = np.zeros_like(self._base)
        full = np.vstack([self._base, narrowest, self.feasible.sampled_members])
        full[:, :layers] = prefix
        full = np.unique(full, axis=0)
        nearest = full[np.argsort(np.abs(full - self._base).sum(axis=1), kind="stable")]
        for start in range(0, len(nearest), CHECK_CHUNK):
            some = nearest[start : start + CHECK_CHUNK]
            inside = self.feasible.contains(some)
            if inside.any():
                return to_tuples(some[inside])[0]
        return None

    def _select_prefixes(self, known: dict[Prefix, float]) -> list[Prefix]:
        """Return the best prefixes of each bucket; buckets are equal ranges of the cost ratio."""
        prefixes = [*self._completions]
        narrow = np.zeros((len(prefixes), len(self.feasible.space.layers)), np.int64)
        narrow[:, : len(prefixes[0])] = prefixes  # all other layers are as narrow as possible
        ratios = self.feasible.cost_ratio(narrow)
        span = float(np.ptp(ratios)) or 1.0
        bucket = np.minimum((ratios - ratios.min()) / span * self.buckets, self.buckets - 1)
        by_bucket: dict[int, list[Prefix]] = {}
        best_first = sorted(prefixes, key=lambda b: known[self._completions[b]], reverse=True)
        bucket_of = dict(zip(prefixes, bucket.astype(int).tolist(), strict=True))
        for prefix in best_first:
            by_bucket.setdefault(bucket_of[prefix], []).append(prefix)
        return [prefix for members in by_bucket.values() for prefix in members[: self.keep]]

    def _next_base(self, known: dict[Prefix, float]) -> Prefix | None:
        best = max(known, key=lambda full: known[full])
        if best not in self._bases:
            self._bases.add(best)
            return best
        drawn = to_tuples(sample_unseen(self.feasible, 1, known, self.rng))
        return drawn[0] if drawn else None
