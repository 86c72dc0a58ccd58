"""The number of parameters of the final model."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space._search_space import SearchSpace
from tabnas.space.costs._cost import ChainCost


@dataclass(frozen=True, repr=False)
class Parameters(ChainCost):
    """Dense weights and biases, LayerNorm's scale and shift, and all embedding tables.

    NOTE[DIFF]: the paper counts dense layers only (`dense_parameters`). A limit on the size of a
    model should cover all of its parameters.
    """

    name = "parameters"

    def layer(self, fan_in: int, width: int) -> int:
        return fan_in * width + width + 2 * width

    def head(self, fan_in: int, outputs: int) -> int:
        return fan_in * outputs + outputs

    def embed(self, columns: int, knots: int, dimension: int) -> int:
        return knots * dimension

    def fixed(self, space: SearchSpace) -> int:
        return space.embedding_parameters
