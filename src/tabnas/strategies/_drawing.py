"""Members of the feasible set that were not looked at yet."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.strategies._batches import rows
from tabnas.types import IntArray

LISTED = 20_000
"""Up to so many members a feasible set is listed; of a larger one members are drawn."""

ROUNDS = 10
"""How many times as many as are wanted are drawn, before fewer are given."""


def is_listed(feasible: FeasibleSet) -> bool:
    """Whether all members can be looked through one by one."""
    return feasible.exact and feasible.count() <= LISTED


def all_seen(feasible: FeasibleSet, taken: Collection[tuple[int, ...]]) -> bool:
    """Whether it is known that no member of V is left."""
    if not is_listed(feasible) or len(taken) < feasible.count():
        return False
    return all(row in taken for row in rows(feasible.members))


def unseen(
    feasible: FeasibleSet, n: int, taken: Collection[tuple[int, ...]], rng: np.random.Generator
) -> IntArray:
    """Up to n distinct members of V that are not `taken`, drawn uniformly, [<= n, layers].

    If V is listed there are fewer than n only if no others are left.
    """
    if n <= 0 or all_seen(feasible, taken):
        return np.zeros((0, feasible.space.depth), np.int64)
    uniform = feasible.given(rng=rng)
    found: dict[tuple[int, ...], None] = {}
    for _ in range(ROUNDS):
        drawn = rows(uniform.sample(n, rng))
        found |= {row: None for row in drawn if row not in taken}
        if len(found) >= n:
            break
    else:
        if is_listed(feasible):
            left = [row for row in rows(feasible.members) if row not in taken and row not in found]
            chosen = rng.permutation(len(left))[: n - len(found)]
            found |= {left[place]: None for place in chosen}
    return np.array([*found][:n], dtype=np.int64).reshape(-1, feasible.space.depth)
