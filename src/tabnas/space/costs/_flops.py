"""Floating-point operations for one row."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space.costs._cost import ChainCost

# LayerNorm: mean 1, centring 1, squares and their sum 2, normalising 1, scale 1, shift 1. ReLU: 1.
FLOPS_A_HIDDEN_UNIT = 8


@dataclass(frozen=True, repr=False)
class Flops(ChainCost):
    """Floating-point operations to predict one encoded row, a multiply-add counting as two.

    An output of a dense layer takes as many multiplications as additions, the bias included.
    Embeddings are looked up, not computed.
    """

    name = "flops"

    def layer(self, fan_in: int, width: int) -> int:
        return 2 * fan_in * width + FLOPS_A_HIDDEN_UNIT * width

    def head(self, fan_in: int, outputs: int) -> int:
        return 2 * fan_in * outputs
