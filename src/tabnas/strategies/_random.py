"""Random search: uniform over the feasible set."""

from __future__ import annotations

from tabnas.strategies._strategy import Strategy
from tabnas.types import IntArray


class RandomSearch(Strategy):
    """Samples uniformly from V, so no sample is infeasible."""

    name = "random"

    def suggest(self) -> IntArray:
        return self.feasible.condition().sample(1, self.rng)
