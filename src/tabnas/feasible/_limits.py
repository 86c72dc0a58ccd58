"""Chain limits in integers, so that rounding never decides feasibility."""

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
    the last one includes the output layer. An entry above the limit forbids the transition.

    No entry is above 2^52 (`ChainCost` checks this) and there are at most 1,000 layers, so the sum
    of one entry per layer fits in int64.
    """

    tables: tuple[IntArray, ...]
    limit: int

    def admits(self, choices: IntArray) -> BoolArray:
        """Return which of the choices, [..., layers], keep the limit: [...]."""
        from tabnas.feasible import _kernels

        rows = np.ascontiguousarray(choices, dtype=np.int64).reshape(-1, len(self.tables))
        sums = _kernels.chain_sums(*self._packed, rows)
        return np.asarray(sums <= self.limit).reshape(choices.shape[:-1])

    @cached_property
    def _packed(self) -> tuple[IntArray, IntArray, IntArray]:
        """The tables in one row, the start of each, and its number of columns."""
        sizes = [table.size for table in self.tables]
        terms = np.concatenate([table.ravel() for table in self.tables])
        columns = np.array([table.shape[1] for table in self.tables])
        return terms, np.cumsum([0, *sizes[:-1]]), columns


class _Validity(ChainCost):
    """A cost of 0 for every architecture: its limit only forbids a layer after an absent one."""

    name = "validity"

    def layer(self, fan_in: int, width: int) -> float:
        return 0

    def head(self, fan_in: int, outputs: int) -> float:
        return 0


def make_chain_limits(space: SearchSpace, budget: Budget) -> list[ChainLimit]:
    """Return the chain limits of the budget that can bind: at least one, without duplicates.

    A limit on a maximum over layers holds if every term keeps it. So it is not a chain limit: it
    forbids transitions in those on sums.
    """
    allowed = _find_allowed(space, budget)
    normalized: dict[tuple[bytes, ...], _IntegerTables] = {}
    for limit in budget.limits:
        if not isinstance(limit.cost, ChainCost) or limit.cost.reduction == "max":
            continue
        integers = _IntegerTables.from_floats(limit.cost.tables(space), limit.upper)
        integers = integers.forbid_unless(allowed).normalize()
        # proportional costs have the same normalized form
        key = tuple(table.tobytes() for table in integers.tables)
        if integers.can_bind and (key not in normalized or integers.limit < normalized[key].limit):
            normalized[key] = integers
    limits = [integers.to_chain_limit() for integers in normalized.values()]
    return limits or [_make_validity_tables(space).forbid_unless(allowed).to_chain_limit()]


def make_validity_limit(space: SearchSpace) -> ChainLimit:
    """Return the limit that all architectures keep and invalid choices do not."""
    return _make_validity_tables(space).to_chain_limit()


def _make_validity_tables(space: SearchSpace) -> _IntegerTables:
    return _IntegerTables.from_floats(_Validity().tables(space), 0)


def _find_allowed(space: SearchSpace, budget: Budget) -> list[BoolArray]:
    """Return which transitions of each layer keep the limits on maxima; no table without any."""
    allowed: list[BoolArray] = []
    for limit in budget.limits:
        if not isinstance(limit.cost, ChainCost) or limit.cost.reduction == "sum":
            continue
        *tables, head = limit.cost.tables(space)
        tables[-1] = limit.cost.combine(tables[-1], head[:, 0])
        within = [np.asarray(table <= limit.upper) for table in tables]
        allowed = [a & b for a, b in zip(allowed or within, within, strict=True)]
    return allowed


FORBIDDEN = -1


@dataclass(frozen=True, eq=False)
class _IntegerTables:
    """Tables and limit in integers, with `FORBIDDEN` for transitions that are never allowed."""

    tables: tuple[IntArray, ...]
    limit: int

    @classmethod
    def from_floats(cls, tables: Sequence[FloatArray], upper: float) -> _IntegerTables:
        """Convert exactly: the terms of a chain cost are multiples of a power of two."""
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
        return cls(tuple(integers), floor(Fraction(upper) * Fraction(scale)))

    @property
    def can_bind(self) -> bool:
        """Whether an architecture can exceed the limit."""
        return sum(int(table.max()) for table in self.tables) > self.limit

    def forbid_unless(self, allowed: Sequence[BoolArray]) -> _IntegerTables:
        """Return the limit with more transitions forbidden; without any table, none are."""
        if not allowed:
            return self
        tables = zip(self.tables, allowed, strict=True)
        return _IntegerTables(tuple(np.where(a, t, FORBIDDEN) for t, a in tables), self.limit)

    def normalize(self) -> _IntegerTables:
        """Return an equivalent limit: constants subtracted and the common divisor removed."""
        minimum = [
            int(table[table != FORBIDDEN].min()) if (table != FORBIDDEN).any() else 0
            for table in self.tables
        ]
        rests = [
            table[table != FORBIDDEN] - smallest
            for table, smallest in zip(self.tables, minimum, strict=True)
        ]
        divisor = max(int(np.gcd.reduce(np.concatenate(rests))), 1)
        tables = tuple(
            np.where(table == FORBIDDEN, FORBIDDEN, (table - smallest) // divisor)
            for table, smallest in zip(self.tables, minimum, strict=True)
        )
        return _IntegerTables(tables, (self.limit - sum(minimum)) // divisor)

    def to_chain_limit(self) -> ChainLimit:
        """Return a `ChainLimit`, with all entries above the limit set to the limit plus 1."""
        limit = max(self.limit, -1)
        above = limit + 1
        return ChainLimit(
            tuple(
                np.where(table == FORBIDDEN, above, np.minimum(table, above))
                for table in self.tables
            ),
            limit,
        )
