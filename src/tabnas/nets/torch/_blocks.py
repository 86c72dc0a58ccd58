"""Which part of every dense layer some children use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tabnas.nets._shape import Child, Matrix, SuperNetShape


@dataclass(frozen=True, eq=False)
class Block:
    """The smallest leading block of a dense layer that holds the blocks of some children.

    Where one child is wide in one layer and another in the next, none of them may use the far
    corner. Elements between two edges of the layer are used alike, so `bins` say all of it.
    """

    matrix: Matrix
    fan_in: int
    fan_out: int
    bins: NDArray[np.bool_]  # [in_edges, out_edges]: what is used, of the whole layer

    @property
    def full(self) -> bool:
        """Whether every element of the block is used."""
        rows = np.array(self.matrix.in_edges) <= self.fan_in
        columns = np.array(self.matrix.out_edges) <= self.fan_out
        return bool(self.bins[np.ix_(rows, columns)].all())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of its part of every array of the layer, by name; the weights come first."""
        vectors = ("bias", "scale", "shift") if self.matrix.hidden else ("bias",)
        shapes: dict[str, tuple[int, ...]] = {
            f"{self.matrix.name}.weight": (self.fan_in, self.fan_out)
        }
        return shapes | {f"{self.matrix.name}.{vector}": (self.fan_out,) for vector in vectors}


def used_blocks(shape: SuperNetShape, children: Sequence[Child]) -> list[Block]:
    """The block of every dense layer that at least one child has."""
    parts = [shape.child_shapes(child) for child in children]
    names = [f"{matrix.name}.weight" for matrix in shape.matrices]
    return [
        _around(matrix, [part[name] for part in parts if name in part])
        for matrix, name in zip(shape.matrices, names, strict=True)
        if any(name in part for part in parts)
    ]


def _around(matrix: Matrix, blocks: Sequence[tuple[int, ...]]) -> Block:
    rows, columns = np.array(matrix.in_edges), np.array(matrix.out_edges)
    bins = [np.logical_and.outer(rows <= a, columns <= b) for a, b in blocks]
    fan_in, fan_out = np.max(blocks, axis=0).tolist()
    return Block(matrix, fan_in, fan_out, reduce(np.logical_or, bins))
