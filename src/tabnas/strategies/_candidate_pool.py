"""Members of the feasible set that a strategy has not evaluated yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.strategies._batch_strategy import to_tuples
from tabnas.types import BoolArray, IntArray

MAX_ENUMERATED = 20_000
"""Feasible sets of up to this many members are enumerated; larger ones are sampled."""

MAX_ROUNDS = 10
"""How often `sample_unseen` draws as many members as requested before it returns fewer."""

SAMPLES = 1_000
"""Members drawn from each distribution for a pool."""


class CandidatePool:
    """Keeps track of the members of V that a strategy can still evaluate for the first time.

    A V of up to `max_enumerated` members is listed in `members`, and `mark` removes from `unseen`
    what was evaluated. Of a larger V, `sample` draws a new pool each time.
    """

    def __init__(self, feasible: FeasibleSet, max_enumerated: int = MAX_ENUMERATED) -> None:
        self.feasible = feasible
        self.is_enumerated = feasible.is_exact and feasible.count() <= max_enumerated
        none = np.zeros((0, len(feasible.space.layers)), np.int64)
        self.members = feasible.members if self.is_enumerated else none
        self.unseen: BoolArray = np.ones(len(self.members), dtype=np.bool_)
        self._index = {row: index for index, row in enumerate(to_tuples(self.members))}

    def mark(self, choices: IntArray) -> None:
        """Mark choices, [n, layers], as evaluated; infeasible ones are ignored."""
        for row in to_tuples(choices):
            if row in self._index:
                self.unseen[self._index[row]] = False

    def sample(
        self,
        near: IntArray,
        distributions: Iterable[np.ndarray | None],
        seen: IntArray,
        rng: np.random.Generator,
    ) -> IntArray:
        """Return distinct members of V that are not among those `seen`, [n, layers].

        They are the feasible ones of `near`, then samples from V under each of the `distributions`,
        which are logits, or None for the uniform distribution.
        """
        sampled = [
            self.feasible.condition(logits, rng=rng).sample(SAMPLES, rng)
            for logits in distributions
        ]
        found = np.concatenate([near[self.feasible.contains(near)], *sampled])
        taken = set(to_tuples(seen))
        new = [row for row in dict.fromkeys(to_tuples(found)) if row not in taken]
        return np.array(new, dtype=np.int64).reshape(-1, len(self.feasible.space.layers))

    def neighbours(self, choices: IntArray) -> IntArray:
        """Return all choices that differ from `choices`, [layers], in one layer at most.

        They are ordered by layer and candidate, [candidates of all layers, layers].
        """
        layers, candidates = np.nonzero(self.feasible.space.mask)
        changed = np.repeat(choices[None], len(layers), axis=0)
        changed[np.arange(len(layers)), layers] = candidates
        return changed


def is_enumerable(feasible: FeasibleSet) -> bool:
    """Return whether V has few enough members to list them all."""
    return feasible.is_exact and feasible.count() <= MAX_ENUMERATED


def is_exhausted(feasible: FeasibleSet, seen: Collection[tuple[int, ...]]) -> bool:
    """Return whether every member of V is known to be among those `seen`."""
    if not is_enumerable(feasible) or len(seen) < feasible.count():
        return False
    return all(row in seen for row in to_tuples(feasible.members))


def sample_unseen(
    feasible: FeasibleSet, n: int, seen: Collection[tuple[int, ...]], rng: np.random.Generator
) -> IntArray:
    """Draw up to n distinct members of V that are not `seen`, uniformly, [<= n, layers].

    If V can be enumerated, there are fewer than n only if no others are left.
    """
    if n <= 0 or is_exhausted(feasible, seen):
        return np.zeros((0, len(feasible.space.layers)), np.int64)
    uniform = feasible.condition(rng=rng)
    found: dict[tuple[int, ...], None] = {}
    for _ in range(MAX_ROUNDS):
        drawn = to_tuples(uniform.sample(n, rng))
        found |= {row: None for row in drawn if row not in seen}
        if len(found) >= n:
            break
    else:
        if is_enumerable(feasible):
            members = to_tuples(feasible.members)
            left = [row for row in members if row not in seen and row not in found]
            chosen = rng.permutation(len(left))[: n - len(found)]
            found |= {left[index]: None for index in chosen}
    return np.array([*found][:n], dtype=np.int64).reshape(-1, len(feasible.space.layers))
