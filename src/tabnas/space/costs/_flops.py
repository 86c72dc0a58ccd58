"""Floating-point operations for one row."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space.costs._cost import ChainCost

# LayerNorm: mean 1, centring 1, squares and their sum 2, normalising 1, scale 1, shift 1. ReLU: 1.
FLOPS_PER_HIDDEN_UNIT = 8


@dataclass(frozen=True, repr=False)
class Flops(ChainCost):
    """Floating-point operations to predict one encoded row; a multiply-add counts as two.

    An output of a dense layer takes as many additions, including the bias, as multiplications.
    Looking up embeddings takes none.
    """

    name = "flops"

    def layer(self, fan_in: int, width: int) -> int:
        return 2 * fan_in * width + FLOPS_PER_HIDDEN_UNIT * width

    def head(self, fan_in: int, outputs: int) -> int:
        return 2 * fan_in * outputs
