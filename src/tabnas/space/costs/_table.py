"""A chain cost whose terms were measured, such as latency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tabnas.errors import TabNASError
from tabnas.space._search_space import SearchSpace
from tabnas.space.costs._cost import ChainCost


@dataclass(frozen=True, eq=False, repr=False)
class TableCost(ChainCost):
    """A cost from tables: `layers[fan_in, width]`, `heads[fan_in, outputs]`, plus an `overhead`.

    `embeddings[dimension]` is the cost of numeric embeddings, if the space has any.

    >>> from tabnas.space import Architecture
    >>> space = SearchSpace([[8, 16]], inputs=4, outputs=1)
    >>> cost = TableCost(
    ...     name="latency_us", layers={(4, 8): 1.5, (4, 16): 2.5}, heads={(8, 1): 1, (16, 1): 1},
    ...     overhead=3.0,
    ... )
    >>> cost(space, Architecture((16,)))
    6.5
    """

    name: str
    layers: Mapping[tuple[int, int], float]
    heads: Mapping[tuple[int, int], float]
    overhead: float = 0.0
    embeddings: Mapping[int, float] = field(default_factory=dict)

    def layer(self, fan_in: int, width: int) -> float:
        return self._look_up(self.layers, "layer", fan_in, width)

    def head(self, fan_in: int, outputs: int) -> float:
        return self._look_up(self.heads, "output layer", fan_in, outputs)

    def embed(self, columns: int, knots: int, dimension: int) -> float:
        try:
            return self.embeddings[dimension]
        except KeyError:
            raise TabNASError(
                f"the cost table {self.name!r} has no entry for numeric embeddings of dimension "
                f"{dimension}"
            ) from None

    def fixed(self, space: SearchSpace) -> float:
        return self.overhead

    def _look_up(
        self, table: Mapping[tuple[int, int], float], what: str, fan_in: int, width: int
    ) -> float:
        try:
            return table[fan_in, width]
        except KeyError:
            raise TabNASError(
                f"the cost table {self.name!r} has no entry for {what} {fan_in} -> {width}"
            ) from None
