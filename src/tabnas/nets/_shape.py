"""The arrays of a SuperNet, and which part of each a child uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabnas.errors import TabnasError
from tabnas.nets._task import Task
from tabnas.space import ABSENT, Architecture, SearchSpace
from tabnas.types import IntArray

NORM_EPSILON = 1e-5
"""Added to the variance, it keeps LayerNorm finite on rows without any."""


@dataclass(frozen=True)
class Child:
    """One architecture of the space, resolved for the engines."""

    architecture: Architecture
    widths: IntArray  # [layers of the SuperNet], 0 where a layer is absent


@dataclass(frozen=True)
class Matrix:
    """One dense layer: its weights [fan_in, fan_out], bias [fan_out] and, if hidden, LayerNorm.

    The edges are the widths, ascending, at which a child's part can end: one for a side that all
    children share, the layer's candidate widths for one that they do not.
    """

    name: str
    in_edges: tuple[int, ...]
    out_edges: tuple[int, ...]
    hidden: bool

    @property
    def fan_in(self) -> int:
        """Rows of the weights."""
        return self.in_edges[-1]

    @property
    def fan_out(self) -> int:
        """Columns of the weights."""
        return self.out_edges[-1]


class SuperNetShape:
    """Names and shapes of everything trained, for a space and a task.

    embedding.c                      [categories, dimension], column c from 0
    layer.l.weight                   [width of layer l - 1, width of layer l], l from 1
    layer.l.bias, .scale, .shift     [width of layer l]
    head.d.weight                    [width of layer d, outputs], one head per allowed depth d
    head.d.bias                      [outputs]

    A child uses the first units of each layer, so its part of every array is a leading block.
    Head 0 sits on the inputs: the linear model.
    """

    def __init__(self, space: SearchSpace, task: Task) -> None:
        _check_ends(space, task)
        self.space = space
        self.task = task
        widths = [tuple(w for w in layer if w != ABSENT) for layer in space.candidates]
        # layers beyond one that is always absent can never be present
        self.layers = next((i for i, layer in enumerate(widths) if not layer), len(widths))
        optional = (i for i, layer in enumerate(space.candidates) if ABSENT in layer)
        shallowest = min(next(optional, self.layers), self.layers)
        edges = [(task.inputs.width,), *widths[: self.layers]]
        self.depths = tuple(range(shallowest, self.layers + 1))
        self.hidden = tuple(
            Matrix(f"layer.{i}", edges[i - 1], edges[i], True) for i in range(1, self.layers + 1)
        )
        self.heads = {
            depth: Matrix(f"head.{depth}", edges[depth], (task.outputs,), False)
            for depth in self.depths
        }
        self.embeddings = {
            f"embedding.{column}": (embedding.categories, embedding.dimension)
            for column, embedding in enumerate(task.inputs.embeddings)
        }

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """All dense layers: the hidden ones, then the heads by depth."""
        return (*self.hidden, *self.heads.values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every array of the whole SuperNet."""
        shapes: dict[str, tuple[int, ...]] = dict(self.embeddings)
        for matrix in self.matrices:
            shapes |= _arrays(matrix, matrix.fan_in, matrix.fan_out)
        return shapes

    def child_shapes(self, child: Child) -> dict[str, tuple[int, ...]]:
        """The shape of every array that the child uses: leading blocks of the SuperNet's."""
        shapes: dict[str, tuple[int, ...]] = dict(self.embeddings)
        widths = (self.task.inputs.width, *child.architecture.widths)
        for matrix, fan_in, fan_out in zip(self.hidden, widths, widths[1:], strict=False):
            shapes |= _arrays(matrix, fan_in, fan_out)
        return shapes | _arrays(self.heads[len(widths) - 1], widths[-1], self.task.outputs)

    def child(self, architecture: Architecture) -> Child:
        """Resolve an architecture, which must be in the space."""
        self.space.choices(architecture)
        widths = np.zeros(self.layers, np.int64)
        widths[: architecture.depth] = architecture.widths
        return Child(architecture, widths)


def _arrays(matrix: Matrix, fan_in: int, fan_out: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        f"{matrix.name}.weight": (fan_in, fan_out),
        f"{matrix.name}.bias": (fan_out,),
    }
    if matrix.hidden:
        shapes |= {f"{matrix.name}.scale": (fan_out,), f"{matrix.name}.shift": (fan_out,)}
    return shapes


def _check_ends(space: SearchSpace, task: Task) -> None:
    if space.inputs != task.inputs.width:
        raise TabnasError(
            f"the inputs of the space must be as wide as those of the task, {task.inputs.width}, "
            f"however {space.inputs} was given"
        )
    if space.outputs != task.outputs:
        raise TabnasError(
            f"the outputs of the space must be as many as those of the task, {task.outputs}, "
            f"however {space.outputs} was given"
        )
