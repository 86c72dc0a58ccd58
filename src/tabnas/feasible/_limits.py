"""Chain limits in integers, so that feasibility is decided without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

import numpy as np

from tabnas.space import Budget, ChainCost, SearchSpace
from tabnas.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ChainLimit:
    """`sum_i tables[i][y_(i-1), y_i] <= limit`, in integers.

    `tables[i]` is [choices of layer i - 1, choices of layer i], [1, choices] for the first layer;
    the output layer is part of the last one. An entry above the limit forbids the transition.

    No entry is above 2^52 (`ChainCost` refuses more) and layers are at most 1,000, so int64 holds
    the sum of any entries, one a layer.
    """

    tables: tuple[IntArray, ...]
    limit: int

    def admits(self, choices: IntArray) -> BoolArray:
        """Which of the choices, [..., layers], hold the limit: [...]."""
        from tabnas.feasible import _kernels

        rows = np.ascontiguousarray(choices, dtype=np.int64).reshape(-1, len(self.tables))
        sums = _kernels.chain_sums(*self._packed, rows)
        return np.asarray(sums <= self.limit).reshape(choices.shape[:-1])

    @cached_property
    def _packed(self) -> tuple[IntArray, IntArray, IntArray]:
        """The tables in one row, where each begins there, and how many columns it has."""
        sizes = [table.size for table in self.tables]
        terms = np.concatenate([table.ravel() for table in self.tables])
        columns = np.array([table.shape[1] for table in self.tables])
        return terms, np.cumsum([0, *sizes[:-1]]), columns


class _Validity(ChainCost):
    """Costs nothing: limits by it forbid only a present layer after an absent one."""

    name = "validity"

    def layer(self, fan_in: int, width: int) -> float:
        return 0

    def head(self, fan_in: int, outputs: int) -> float:
        return 0


def chain_limits(space: SearchSpace, budget: Budget) -> list[ChainLimit]:
    """The budget's chain limits that can bind, at least one, no two saying the same."""
    normal: dict[tuple[bytes, ...], _Integers] = {}
    for limit in budget.limits:
        if not isinstance(limit.cost, ChainCost):
            continue
        integers = _Integers.of(limit.cost.tables(space), limit.at_most).normal()
        # proportional costs (bytes and parameters, say) have the same normal form
        key = tuple(table.tobytes() for table in integers.tables)
        if integers.can_bind and (key not in normal or integers.limit < normal[key].limit):
            normal[key] = integers
    return [integers.capped() for integers in normal.values()] or [validity_limit(space)]


def validity_limit(space: SearchSpace) -> ChainLimit:
    """The limit that every architecture holds, and no other choices do."""
    return _Integers.of(_Validity().tables(space), 0).capped()


FORBIDDEN = -1


@dataclass(frozen=True, eq=False)
class _Integers:
    """Tables and limit in integers, with `FORBIDDEN` for transitions that no limit would allow."""

    tables: tuple[IntArray, ...]
    limit: int

    @classmethod
    def of(cls, tables: Sequence[FloatArray], at_most: float) -> _Integers:
        """Exactly: the terms of a chain cost are integers, or multiples of a power of two."""
        finite = np.concatenate([table[np.isfinite(table)] for table in tables])
        scale = 1.0
        while (finite * scale % 1).any():
            scale *= 2
        *integers, head = (
            np.where(np.isfinite(table), table * scale, FORBIDDEN).astype(np.int64)
            for table in tables
        )
        last = integers[-1]
        integers[-1] = np.where(last == FORBIDDEN, FORBIDDEN, last + head[:, 0])
        return cls(tuple(integers), floor(Fraction(at_most) * Fraction(scale)))

    @property
    def can_bind(self) -> bool:
        """Whether any architecture may exceed the limit."""
        return sum(int(table.max()) for table in self.tables) > self.limit

    def normal(self) -> _Integers:
        """Constants moved to the limit and the common divisor taken out: the same set."""
        least = [int(table[table != FORBIDDEN].min()) for table in self.tables]
        rests = [
            table[table != FORBIDDEN] - low for table, low in zip(self.tables, least, strict=True)
        ]
        divisor = max(int(np.gcd.reduce(np.concatenate(rests))), 1)
        tables = tuple(
            np.where(table == FORBIDDEN, FORBIDDEN, (table - low) // divisor)
            for table, low in zip(self.tables, least, strict=True)
        )
        return _Integers(tables, (self.limit - sum(least)) // divisor)

    def capped(self) -> ChainLimit:
        """With everything above the limit, and what is forbidden, just above the limit."""
        limit = max(self.limit, -1)
        above = limit + 1
        return ChainLimit(
            tuple(
                np.where(table == FORBIDDEN, above, np.minimum(table, above))
                for table in self.tables
            ),
            limit,
        )
