"""Chain limits in integers, so that feasibility is decided without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np

from tabnas.space import Budget, ChainCost, SearchSpace
from tabnas.types import BoolArray, FloatArray, IntArray

LARGEST = 2**52
"""Sums of terms stay below it, so that integers and floats of them are both exact."""


@dataclass(frozen=True)
class ChainLimit:
    """`sum_i tables[i][y_(i-1), y_i] <= limit`, in integers.

    `tables[i]` is [choices of layer i - 1, choices of layer i], [1, choices] for the first layer;
    the output layer is part of the last one. An entry above the limit forbids the transition.
    """

    tables: tuple[IntArray, ...]
    limit: int

    def admits(self, choices: IntArray) -> BoolArray:
        """Which of the choices, [..., layers], hold the limit: [...]."""
        before = np.zeros_like(choices[..., 0])
        total = np.zeros(choices.shape[:-1], dtype=np.int64)
        for i, table in enumerate(self.tables):
            total += table[before, choices[..., i]]
            before = choices[..., i]
        return np.asarray(total <= self.limit)


class _Validity(ChainCost):
    """Costs nothing: limits by it forbid only a present layer after an absent one."""

    name = "validity"

    def layer(self, fan_in: int, width: int) -> float:
        return 0

    def head(self, fan_in: int, outputs: int) -> float:
        return 0


def chain_limits(space: SearchSpace, budget: Budget) -> list[ChainLimit]:
    """The budget's chain limits that can bind, at least one, no two saying the same."""
    normal: dict[tuple[bytes, ...], ChainLimit] = {}
    for limit in budget.limits:
        if not isinstance(limit.cost, ChainCost):
            continue
        tables = limit.cost.tables(space)
        if sum(table[np.isfinite(table)].max() for table in tables) <= limit.at_most:
            continue
        chain = _normal_form(*_to_integers(tables, limit.at_most))
        # proportional costs (bytes and parameters, say) have the same normal form
        key = tuple(table.tobytes() for table in chain.tables)
        if key not in normal or chain.limit < normal[key].limit:
            normal[key] = chain
    return list(normal.values()) or [validity_limit(space)]


def validity_limit(space: SearchSpace) -> ChainLimit:
    """The limit that every architecture holds, and no other choices do."""
    return _normal_form(*_to_integers(_Validity().tables(space), 0))


def _to_integers(tables: Sequence[FloatArray], at_most: float) -> tuple[list[IntArray], int]:
    """Terms in units of a power of two: exactly, if one divides them all.

    Else they are rounded up to the finest unit that fits, so that nothing slips through. What that
    shuts out is within a relative 1e-12 or so of the limit.
    """
    finite = np.concatenate([table[np.isfinite(table)] for table in tables])
    largest = max(at_most, float(finite.max()) * len(tables), 1.0)
    bits = 0
    while (np.ldexp(finite, bits) % 1).any() and largest * 2.0 ** (bits + 1) <= LARGEST:
        bits += 1
    scale = 2.0**bits
    limit = floor(at_most * scale)
    above = limit + 1
    integers = [np.minimum(np.ceil(table * scale), above).astype(np.int64) for table in tables]
    head = integers.pop()
    integers[-1] = np.minimum(integers[-1] + head[:, 0], above)
    return integers, limit


def _normal_form(tables: list[IntArray], limit: int) -> ChainLimit:
    """Constants moved to the limit and the common divisor taken out: the same set, fewer bits."""
    allowed = [table <= limit for table in tables]
    least = [
        int(table[ok].min(initial=limit + 1)) for table, ok in zip(tables, allowed, strict=True)
    ]
    limit -= sum(least)
    if limit < 0:  # nothing is feasible
        return ChainLimit(tuple(np.ones_like(table) for table in tables), 0)
    entries = np.concatenate(
        [table[ok] - low for table, ok, low in zip(tables, allowed, least, strict=True)]
    )
    divisor = max(int(np.gcd.reduce(entries)), 1)
    limit //= divisor
    normal = tuple(
        np.where(ok, np.minimum((table - low) // divisor, limit + 1), limit + 1)
        for table, ok, low in zip(tables, allowed, least, strict=True)
    )
    return ChainLimit(normal, limit)
