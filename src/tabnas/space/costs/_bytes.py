"""The size of the weights as stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tabnas.space._search_space import SearchSpace
from tabnas.space.costs._cost import ChainCost
from tabnas.space.costs._parameters import Parameters

BYTES_PER_WEIGHT = 4  # weights are float32


@dataclass(frozen=True, repr=False)
class Bytes(ChainCost):
    """Bytes of all parameters as float32, without the header of the file."""

    name = "bytes"
    _parameters: ClassVar = Parameters()

    def layer(self, fan_in: int, width: int) -> int:
        return BYTES_PER_WEIGHT * self._parameters.layer(fan_in, width)

    def head(self, fan_in: int, outputs: int) -> int:
        return BYTES_PER_WEIGHT * self._parameters.head(fan_in, outputs)

    def embed(self, columns: int, knots: int, dimension: int) -> int:
        return BYTES_PER_WEIGHT * self._parameters.embed(columns, knots, dimension)

    def fixed(self, space: SearchSpace) -> int:
        return BYTES_PER_WEIGHT * self._parameters.fixed(space)
