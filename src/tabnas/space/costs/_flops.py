"""Floating-point operations for one row."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space.costs._cost import ChainCost

# LayerNorm: mean 1, centring 1, squares and their sum 2, normalising 1, scale 1, shift 1. ReLU: 1.
FLOPS_PER_HIDDEN_UNIT = 8
# A numeric embedding: the place between two knots takes a difference and a product, each number
# that is read there a difference, a product and a sum.
FLOPS_PER_PLACE, FLOPS_PER_NUMBER = 2, 3


@dataclass(frozen=True, repr=False)
class Flops(ChainCost):
    """Floating-point operations to predict one encoded row; a multiply-add counts as two.

    An output of a dense layer takes as many additions, including the bias, as multiplications.
    Looking up a categorical embedding takes none, nor does finding the knots next to a value.
    """

    name = "flops"

    def layer(self, fan_in: int, width: int) -> int:
        return 2 * fan_in * width + FLOPS_PER_HIDDEN_UNIT * width

    def head(self, fan_in: int, outputs: int) -> int:
        return 2 * fan_in * outputs

    def embed(self, columns: int, knots: int, dimension: int) -> int:
        return columns * (FLOPS_PER_PLACE + FLOPS_PER_NUMBER * dimension)
