"""The size of the weights as stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tabnas.space._precision import Precision
from tabnas.space._search_space import SearchSpace
from tabnas.space.costs._cost import ChainCost

FLOAT_BYTES = 4
VECTORS = 3  # of a layer: bias, and LayerNorm's scale and shift


@dataclass(frozen=True, repr=False)
class Bytes(ChainCost):
    """Bytes of all parameters in their precision, with the scales of int8 weights.

    The knots of numeric embeddings count, too, as float32: who evaluates the network needs them.
    Names, categories and the header of a file do not count.

    >>> space = SearchSpace([[8]], inputs=4, outputs=1)
    >>> [Bytes(precision)(space, space.architecture([0])) for precision in Precision]
    [260, 130, 176]
    """

    name = "bytes"
    precision: Precision = Precision.FLOAT32

    def layer(self, fan_in: int, width: int) -> int:
        return self._weights(fan_in * width, scales=width) + self._vector(VECTORS * width)

    def head(self, fan_in: int, outputs: int) -> int:
        return self._weights(fan_in * outputs, scales=outputs) + self._vector(outputs)

    def embed(self, columns: int, knots: int, dimension: int) -> int:
        return self._weights(knots * dimension, scales=dimension) + FLOAT_BYTES * knots

    def fixed(self, space: SearchSpace) -> int:
        parameters = space.embedding_parameters
        return self._weights(parameters, scales=1) if parameters else 0

    def at_precision(self, precision: Precision) -> Bytes:
        return replace(self, precision=precision)

    def _weights(self, count: int, *, scales: int) -> int:
        scale_bytes = FLOAT_BYTES * scales if self.precision == Precision.INT8 else 0
        return self.precision.weight_bytes * count + scale_bytes

    def _vector(self, length: int) -> int:
        return (2 if self.precision == Precision.FLOAT16 else FLOAT_BYTES) * length
