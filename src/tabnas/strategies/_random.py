"""Random search: uniform over the feasible set, the best one seen."""

from __future__ import annotations

from tabnas.strategies._strategy import Strategy
from tabnas.types import IntArray


class RandomSearch(Strategy):
    """Draws from V uniformly and exactly: no draw is wasted on what is over the limit."""

    name = "random"

    def suggest(self) -> IntArray:
        return self.feasible.given().sample(1, self.rng)
