"""What choices cost, many at a time, and whether the limits hold."""

from __future__ import annotations

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible._limits import chain_limits, validity_limit
from tabnas.space import Budget, ChainCost, Cost, SearchSpace
from tabnas.types import BoolArray, FloatArray, IntArray

MAX_ENUMERATED = 500_000
"""The largest number of encodings that are looked at one by one, and their costs remembered."""


class Measure:
    """Membership in V and the load on its limits, for arrays of choices, [..., layers]."""

    def __init__(self, space: SearchSpace, budget: Budget) -> None:
        self.space = space
        self.budget = budget
        self.shape = tuple(len(layer) for layer in space.candidates)
        self.encodings = int(np.prod(self.shape, dtype=object))
        self.all_chain = all(isinstance(limit.cost, ChainCost) for limit in budget.limits)
        self.chain_limits = chain_limits(space, budget)
        self._validity = validity_limit(space)
        # by identity, the cost kept with what is known of it so that no other takes its place
        self._tables: dict[int, tuple[Cost, list[FloatArray]]] = {}
        self._remembered: dict[int, tuple[Cost, FloatArray]] = {}

    def contains(self, choices: IntArray) -> BoolArray:
        """Which of the choices are feasible: [...]."""
        choices = np.asarray(choices)
        inside = np.ones(choices.shape[:-1], dtype=np.bool_)
        for chain in self.chain_limits:
            inside &= chain.admits(choices)
        for limit in self.budget.limits:
            if not isinstance(limit.cost, ChainCost):
                inside[inside] = self.costs(limit.cost, choices[inside]) <= limit.at_most
        return inside

    def load(self, choices: IntArray) -> FloatArray:
        """T / T0, and of several limits the largest; infinite if no architecture: [...]."""
        load = np.zeros(choices.shape[:-1])
        for limit in self.budget.limits:
            costs = self.costs(limit.cost, choices)
            # a limit of 0 is held by costs of 0 alone
            share = costs / limit.at_most if limit.at_most else np.where(costs > 0, np.inf, 0.0)
            load = np.maximum(load, share)
        return load

    def costs(self, cost: Cost, choices: IntArray) -> FloatArray:
        """The cost of each of the choices; infinite where they are no architecture: [...]."""
        if isinstance(cost, ChainCost):
            return self._chain_costs(cost, choices)
        costs = np.full(choices.shape[:-1], np.inf)
        valid = self._validity.admits(choices)
        costs[valid] = self._called(cost, choices[valid])
        return costs

    def _chain_costs(self, cost: ChainCost, choices: IntArray) -> FloatArray:
        if id(cost) not in self._tables:
            self._tables[id(cost)] = cost, cost.tables(self.space)
        *tables, head = self._tables[id(cost)][1]
        total = np.zeros(choices.shape[:-1])
        before = np.zeros_like(choices[..., 0])
        for i, table in enumerate(tables):
            total += table[before, choices[..., i]]
            before = choices[..., i]
        return np.asarray(total + head[before, 0])

    def _called(self, cost: Cost, choices: IntArray) -> FloatArray:
        """One call for each architecture among [n, layers] that is not remembered."""
        if self.encodings > MAX_ENUMERATED:
            distinct, where = np.unique(choices, axis=0, return_inverse=True)
            return np.array([self._call(cost, row) for row in distinct])[where.reshape(-1)]
        if id(cost) not in self._remembered:
            self._remembered[id(cost)] = cost, np.full(self.encodings, np.nan)
        known = self._remembered[id(cost)][1]
        flat = np.ravel_multi_index(tuple(choices.T), self.shape)
        missing = np.unique(flat[np.isnan(known[flat])])
        rows = np.stack(np.unravel_index(missing, self.shape), axis=1)
        known[missing] = [self._call(cost, row) for row in rows]
        return np.asarray(known[flat])

    def _call(self, cost: Cost, choices: IntArray) -> float:
        architecture = self.space.architecture(choices)
        value = float(cost(self.space, architecture))
        if not value >= 0:
            raise TabnasError(
                f"the cost {cost.name!r} must be at least 0, "
                f"however it is {value} for {architecture}"
            )
        return value
