"""The paper's parameter count."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space.costs._cost import ChainCost


@dataclass(frozen=True, repr=False)
class DenseParameters(ChainCost):
    """Weights and biases of the dense layers, without LayerNorm and embeddings.

    The paper prints this count beside every architecture.
    """

    name = "dense_parameters"

    def layer(self, fan_in: int, width: int) -> int:
        return fan_in * width + width

    def head(self, fan_in: int, outputs: int) -> int:
        return fan_in * outputs + outputs
