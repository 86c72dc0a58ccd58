"""The blocks of the dense layers that some children use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tabnas.nets._shape import Child, DenseLayer, SuperNetShape


@dataclass(frozen=True, eq=False)
class Block:
    """The smallest leading block of a dense layer that contains the blocks of some children.

    If one child is wide in one layer and another in the next, none of them may use the far corner.
    Elements between two candidate widths are used by the same children, so one entry of `bins`
    describes all of them.
    """

    layer: DenseLayer
    fan_in: int
    fan_out: int
    bins: NDArray[np.bool_]  # [in_widths, out_widths] of the layer: which elements are used

    @property
    def is_full(self) -> bool:
        """Whether every element of the block is used."""
        rows = np.array(self.layer.in_widths) <= self.fan_in
        columns = np.array(self.layer.out_widths) <= self.fan_out
        return bool(self.bins[np.ix_(rows, columns)].all())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the block's part of every array by name, the weights first."""
        vectors = ("bias", "scale", "shift") if self.layer.is_hidden else ("bias",)
        shapes: dict[str, tuple[int, ...]] = {
            f"{self.layer.name}.weight": (self.fan_in, self.fan_out)
        }
        return shapes | {f"{self.layer.name}.{vector}": (self.fan_out,) for vector in vectors}


def find_used_blocks(shape: SuperNetShape, children: Sequence[Child]) -> list[Block]:
    """Return a block for every dense layer that at least one child has."""
    parts = [shape.child_shapes(child) for child in children]
    names = [f"{layer.name}.weight" for layer in shape.dense_layers]
    return [
        _bounding_block(layer, [part[name] for part in parts if name in part])
        for layer, name in zip(shape.dense_layers, names, strict=True)
        if any(name in part for part in parts)
    ]


def _bounding_block(layer: DenseLayer, blocks: Sequence[tuple[int, ...]]) -> Block:
    rows, columns = np.array(layer.in_widths), np.array(layer.out_widths)
    bins = [np.logical_and.outer(rows <= a, columns <= b) for a, b in blocks]
    fan_in, fan_out = np.max(blocks, axis=0).tolist()
    return Block(layer, fan_in, fan_out, reduce(np.logical_or, bins))
