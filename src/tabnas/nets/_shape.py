"""The arrays of a SuperNet, and which part of each a child uses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tabnas.errors import TabNASError
from tabnas.nets._network_spec import NetworkSpec
from tabnas.space import ABSENT, Architecture, SearchSpace
from tabnas.types import IntArray

NUMERIC_EMBEDDING = "numeric_embedding"
"""The name of the tables of numeric embeddings, one after another in one array."""
NORM_EPSILON = 1e-5
"""Added to the variance, so that LayerNorm stays finite on rows without variance."""


@dataclass(frozen=True)
class Child:
    """One architecture that the SuperNet covers, as the engines take it."""

    architecture: Architecture
    units: IntArray  # [1 + layers of the SuperNet]: the inputs, then widths, 0 for an absent layer
    multiply_adds: int  # of the dense layers, for the outputs of one row
    is_trainable: bool  # whether its widths are candidates; others are only evaluated


@dataclass(frozen=True)
class DenseLayer:
    """One dense layer: its weights [fan_in, fan_out], bias [fan_out] and, if hidden, LayerNorm.

    `in_widths` and `out_widths` are the widths, ascending, that a child's part can have: the
    candidate widths of the layer, or a single number where all children have the same.
    """

    name: str
    in_widths: tuple[int, ...]
    out_widths: tuple[int, ...]
    is_hidden: bool

    @property
    def fan_in(self) -> int:
        """The rows of the weights."""
        return self.in_widths[-1]

    @property
    def fan_out(self) -> int:
        """The columns of the weights."""
        return self.out_widths[-1]


class SuperNetShape:
    """Names and shapes of all trained arrays, for a space and a network spec.

    embedding.c                      [categories, dimension], column c from 0
    numeric_embedding                [dimension, knots of all embedded numeric columns]
    layer.l.weight                   [width of layer l - 1, width of layer l], l from 1
    layer.l.bias, .scale, .shift     [width of layer l]
    head.d.weight                    [width of layer d, outputs], one head per allowed depth d
    head.d.bias                      [outputs]

    A child uses the first units of each layer, so its part of every array is a leading block.
    Head 0 reads the inputs: the linear model.
    """

    def __init__(self, space: SearchSpace, spec: NetworkSpec) -> None:
        _check_ends(space, spec)
        self.space = space
        self.spec = spec
        widths = [tuple(w for w in layer if w != ABSENT) for layer in space.widths]
        # layers after one that is always absent can never be present
        self.max_depth = next((i for i, layer in enumerate(widths) if not layer), len(widths))
        optional = (i for i, layer in enumerate(space.widths) if ABSENT in layer)
        shallowest = min(next(optional, self.max_depth), self.max_depth)
        self.dimensions = (0,) if space.numeric_embeddings is None else space.layers[0]
        inputs = tuple(map(space.input_width, self.dimensions))
        unit_widths = [inputs, *widths[: self.max_depth]]
        self.depths = tuple(range(shallowest, self.max_depth + 1))
        self.hidden_layers = tuple(
            DenseLayer(f"layer.{i}", unit_widths[i - 1], unit_widths[i], is_hidden=True)
            for i in range(1, self.max_depth + 1)
        )
        self.heads = {
            depth: DenseLayer(f"head.{depth}", unit_widths[depth], (spec.outputs,), is_hidden=False)
            for depth in self.depths
        }
        self.category_embeddings = {
            f"embedding.{column}": (embedding.categories, embedding.dimension)
            for column, embedding in enumerate(spec.inputs.category_embeddings)
        }

    @property
    def table_dimensions(self) -> tuple[int, ...]:
        """The candidate dimensions of numeric embeddings above 0."""
        return tuple(dimension for dimension in self.dimensions if dimension)

    @property
    def knots(self) -> int:
        """The knots of all embedded numeric columns; 0 if no child embeds them."""
        embeddings = self.space.numeric_embeddings
        return embeddings.knots if embeddings is not None and self.table_dimensions else 0

    def _table_shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all embeddings, with numeric ones of that dimension."""
        numeric = {NUMERIC_EMBEDDING: (dimension, self.knots)} if dimension else {}
        return {**self.category_embeddings, **numeric}

    @property
    def dense_layers(self) -> tuple[DenseLayer, ...]:
        """All dense layers: the hidden ones, then the heads by depth."""
        return (*self.hidden_layers, *self.heads.values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every array of the SuperNet."""
        shapes = self._table_shapes(self.dimensions[-1])
        for layer in self.dense_layers:
            shapes |= _array_shapes(layer, layer.fan_in, layer.fan_out)
        return shapes

    def child_shapes(self, child: Child) -> dict[str, tuple[int, ...]]:
        """Return the shape of every array that the child uses: leading blocks of the SuperNet's."""
        dimension = child.architecture.dimension
        shapes = self._table_shapes(dimension)
        widths = (self.space.input_width(dimension), *child.architecture.widths)
        for layer, fan_in, fan_out in zip(self.hidden_layers, widths, widths[1:], strict=False):
            shapes |= _array_shapes(layer, fan_in, fan_out)
        head = self.heads[len(widths) - 1]
        return shapes | _array_shapes(head, widths[-1], self.spec.outputs)

    def child(self, architecture: Architecture) -> Child:
        """Return the child of an architecture; raise an error unless the SuperNet covers it."""
        self.space.check_covers(architecture)
        units = np.zeros(1 + self.max_depth, np.int64)
        units[0] = self.space.input_width(architecture.dimension)
        units[1 : 1 + architecture.depth] = architecture.widths
        widths = (int(units[0]), *architecture.widths, self.spec.outputs)
        multiply_adds = sum(a * b for a, b in pairwise(widths))
        return Child(architecture, units, multiply_adds, is_trainable=architecture in self.space)


def _array_shapes(layer: DenseLayer, fan_in: int, fan_out: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        f"{layer.name}.weight": (fan_in, fan_out),
        f"{layer.name}.bias": (fan_out,),
    }
    if layer.is_hidden:
        shapes |= {f"{layer.name}.scale": (fan_out,), f"{layer.name}.shift": (fan_out,)}
    return shapes


def _check_ends(space: SearchSpace, spec: NetworkSpec) -> None:
    if space.inputs != spec.inputs.width:
        raise TabNASError(
            f"the space must have as many inputs as the network spec, {spec.inputs.width}, "
            f"got {space.inputs}"
        )
    embeddings = space.numeric_embeddings
    if embeddings is not None and embeddings != spec.inputs.numeric_embeddings(
        embeddings.dimensions
    ):
        raise TabNASError(
            "the space must have the numeric embeddings of the network spec, "
            f"{spec.inputs.numeric_embeddings(embeddings.dimensions)}, got {embeddings}"
        )
    if space.outputs != spec.outputs:
        raise TabNASError(
            f"the space must have as many outputs as the network spec, {spec.outputs}, "
            f"got {space.outputs}"
        )
