"""Memory for activations at run time."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space.costs._cost import ChainCost

BYTES_PER_ACTIVATION = 4  # activations are float32


@dataclass(frozen=True, repr=False)
class RamBytes(ChainCost):
    """Bytes of activations as float32 that are in memory at once while one row is predicted.

    A layer reads the activations before it and writes its own, so both are in memory; bias,
    normalization and ReLU work in place. The layer for which both together are largest counts: a
    block of that size is enough if layers write to its two ends in turn. The encoded row with all
    its embeddings is the first activation, the outputs are the last.
    """

    name = "ram_bytes"
    reduction = "max"

    def layer(self, fan_in: int, width: int) -> int:
        return BYTES_PER_ACTIVATION * (fan_in + width)

    def head(self, fan_in: int, outputs: int) -> int:
        return BYTES_PER_ACTIVATION * (fan_in + outputs)
