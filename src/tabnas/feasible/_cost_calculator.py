"""The costs of many choices at a time, and whether they keep the limits."""

from __future__ import annotations

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible._limits import make_chain_limits, make_validity_limit
from tabnas.space import Budget, ChainCost, Cost, SearchSpace
from tabnas.types import BoolArray, FloatArray, IntArray

MAX_ENUMERATED = 500_000
"""Spaces with up to this many encodings are enumerated, and their costs are cached."""


class CostCalculator:
    """Computes costs, cost ratios and membership in V for arrays of choices, [..., layers]."""

    def __init__(self, space: SearchSpace, budget: Budget) -> None:
        self.space = space
        self.budget = budget
        self.shape = tuple(len(layer) for layer in space.layers)
        self.n_encodings = int(np.prod(self.shape, dtype=object))
        self.has_only_chain_costs = all(
            isinstance(limit.cost, ChainCost) for limit in budget.limits
        )
        self.chain_limits = make_chain_limits(space, budget)
        self._validity = make_validity_limit(space)
        # Keyed by id. The cost is stored with its values, so that no other object gets its id.
        self._tables: dict[int, tuple[Cost, list[FloatArray]]] = {}
        self._cache: dict[int, tuple[Cost, FloatArray]] = {}

    def contains(self, choices: IntArray) -> BoolArray:
        """Return which of the choices are feasible: [...]."""
        choices = np.asarray(choices)
        inside = np.ones(choices.shape[:-1], dtype=np.bool_)
        for chain in self.chain_limits:
            inside &= chain.admits(choices)
        for limit in self.budget.limits:
            if not isinstance(limit.cost, ChainCost):
                inside[inside] = self.costs(limit.cost, choices[inside]) <= limit.upper
        return inside

    def cost_ratio(self, choices: IntArray) -> FloatArray:
        """Return T / T0, the largest over the limits; infinite for invalid choices: [...]."""
        ratio = np.zeros(choices.shape[:-1])
        for limit in self.budget.limits:
            costs = self.costs(limit.cost, choices)
            # only costs of 0 keep a limit of 0
            share = costs / limit.upper if limit.upper else np.where(costs > 0, np.inf, 0.0)
            ratio = np.maximum(ratio, share)
        return ratio

    def costs(self, cost: Cost, choices: IntArray) -> FloatArray:
        """Return the cost of each of the choices; infinite for invalid ones: [...]."""
        if isinstance(cost, ChainCost):
            return self._chain_costs(cost, choices)
        costs = np.full(choices.shape[:-1], np.inf)
        valid = self._validity.admits(choices)
        costs[valid] = self._callable_costs(cost, choices[valid])
        return costs

    def _chain_costs(self, cost: ChainCost, choices: IntArray) -> FloatArray:
        if id(cost) not in self._tables:
            self._tables[id(cost)] = cost, cost.tables(self.space)
        *tables, head = self._tables[id(cost)][1]
        total = np.zeros(choices.shape[:-1])
        before = np.zeros_like(choices[..., 0])
        for i, table in enumerate(tables):
            total = cost.combine(total, table[before, choices[..., i]])
            before = choices[..., i]
        return np.asarray(cost.combine(total, head[before, 0]))

    def _callable_costs(self, cost: Cost, choices: IntArray) -> FloatArray:
        """Call the cost once for each distinct architecture among [n, layers] not in the cache."""
        if self.n_encodings > MAX_ENUMERATED:
            distinct, where = np.unique(choices, axis=0, return_inverse=True)
            return np.array([self._call(cost, row) for row in distinct])[where.reshape(-1)]
        if id(cost) not in self._cache:
            self._cache[id(cost)] = cost, np.full(self.n_encodings, np.nan)
        cached = self._cache[id(cost)][1]
        flat = np.ravel_multi_index(tuple(choices.T), self.shape)
        missing = np.unique(flat[np.isnan(cached[flat])])
        rows = np.stack(np.unravel_index(missing, self.shape), axis=1)
        cached[missing] = [self._call(cost, row) for row in rows]
        return np.asarray(cached[flat])

    def _call(self, cost: Cost, choices: IntArray) -> float:
        architecture = self.space.architecture(choices)
        value = float(cost(self.space, architecture))
        if not value >= 0:
            raise TabNASError(
                f"the cost {cost.name!r} must be at least 0, got {value} for {architecture}"
            )
        return value
