"""Where everything lies in memory: one flat buffer for the dense layers, one for the embeddings."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tabnas.nets._examples import Float32Array
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._shape import Matrix, SuperNetShape
from tabnas.nets._task import Loss
from tabnas.nets.compiled._losses import LOGISTIC, SOFTMAX, SQUARED_ERROR
from tabnas.nets.compiled._strides import row_stride, whole_vectors
from tabnas.nets.compiled._vectors import LANES
from tabnas.types import IntArray

LOSSES = {Loss.LOGISTIC: LOGISTIC, Loss.SOFTMAX: SOFTMAX, Loss.SQUARED_ERROR: SQUARED_ERROR}


class Field(IntEnum):
    """Columns of `Plan.matrices`: offsets into the parameters, the edges and the step counts."""

    WEIGHT = 0
    STRIDE = 1
    BIAS = 2
    SCALE = 3
    SHIFT = 4
    IN_EDGES = 5
    IN_COUNT = 6
    OUT_EDGES = 7
    OUT_COUNT = 8
    STEPS = 9


class Column(IntEnum):
    """Columns of `Plan.columns`, one row per embedding."""

    DIMENSION = 0
    STRIDE = 1  # from one category to the next
    TABLE = 2  # where its numbers begin among those of all embeddings
    FIRST_ROW = 3  # the number of its category 0 among the categories of all embeddings
    INPUT = 4  # its first unit among the inputs
    CATEGORIES = 5


class Size(IntEnum):
    """Entries of `Plan.sizes`."""

    LAYERS = 0
    NUMERIC = 1
    INPUTS = 2
    OUTPUTS = 3
    LOSS = 4


class Plan(NamedTuple):
    """All that the kernels know of the networks; never changes."""

    sizes: IntArray
    matrices: IntArray  # [hidden layers and heads, fields]
    edges: IntArray  # the candidate widths that the matrices' sides can end at
    heads: IntArray  # [layers + 1], the matrix that is the head of each depth, or -1
    columns: IntArray  # [embeddings, fields]


class Layout(NamedTuple):
    """The plan, with what only Python needs."""

    plan: Plan
    size: int  # numbers in the buffer of the dense layers
    step_counts: int
    table_size: int  # numbers in the buffer of the embeddings
    categories: int  # of all embeddings together


def lay_out(shape: SuperNetShape) -> Layout:
    """Give every array its place."""
    matrices: list[IntArray] = []
    edges: list[int] = []
    size = steps = 0
    for matrix in shape.matrices:
        row = np.zeros(len(Field), np.int64)
        stride = row_stride(matrix.fan_out)
        row[Field.STRIDE] = stride
        row[Field.WEIGHT] = size
        # transposing reads whole blocks, from any row on
        size += stride * (matrix.fan_in + LANES)
        for field in (Field.BIAS, Field.SCALE, Field.SHIFT):
            row[field] = size
            size += stride if matrix.hidden or field is Field.BIAS else 0
        row[Field.IN_EDGES], row[Field.IN_COUNT] = len(edges), len(matrix.in_edges)
        edges += matrix.in_edges
        row[Field.OUT_EDGES], row[Field.OUT_COUNT] = len(edges), len(matrix.out_edges)
        edges += matrix.out_edges
        row[Field.STEPS] = steps
        steps += len(matrix.in_edges) * len(matrix.out_edges)
        matrices.append(row)
    heads = np.full(shape.layers + 1, -1, np.int64)
    heads[list(shape.depths)] = shape.layers + np.arange(len(shape.depths))
    columns, table_size, categories = _columns(shape)
    plan = Plan(_sizes(shape), np.array(matrices), np.array(edges, np.int64), heads, columns)
    return Layout(plan, size, steps, table_size, categories)


def _sizes(shape: SuperNetShape) -> IntArray:
    task = shape.task
    sizes = np.zeros(len(Size), np.int64)
    sizes[Size.LAYERS] = shape.layers
    sizes[Size.NUMERIC] = task.inputs.numeric
    sizes[Size.INPUTS] = task.inputs.width
    sizes[Size.OUTPUTS] = task.outputs
    sizes[Size.LOSS] = LOSSES[task.loss]
    return sizes


def _columns(shape: SuperNetShape) -> tuple[IntArray, int, int]:
    columns = np.zeros((len(shape.embeddings), len(Column)), np.int64)
    table = first = 0
    unit = shape.task.inputs.numeric
    for row, (categories, dimension) in zip(columns, shape.embeddings.values(), strict=True):
        stride = whole_vectors(dimension)
        row[:] = dimension, stride, table, first, unit, categories
        table += categories * stride
        first += categories
        unit += dimension
    return columns, table, first


def views(shape: SuperNetShape, layout: Layout, dense: Float32Array) -> dict[str, Float32Array]:
    """The named arrays inside a dense buffer."""
    named: dict[str, Float32Array] = {}
    for matrix, row in zip(shape.matrices, layout.plan.matrices, strict=True):
        named |= _matrix_views(matrix, row, dense)
    return named


def _matrix_views(matrix: Matrix, row: IntArray, dense: Float32Array) -> dict[str, Float32Array]:
    stride, start = int(row[Field.STRIDE]), int(row[Field.WEIGHT])
    weight = dense[start : start + matrix.fan_in * stride].reshape(matrix.fan_in, stride)
    named = {f"{matrix.name}.weight": weight[:, : matrix.fan_out]}
    vectors = {"bias": Field.BIAS, "scale": Field.SCALE, "shift": Field.SHIFT}
    for name, field in vectors.items():
        if matrix.hidden or field is Field.BIAS:
            start = int(row[field])
            named[f"{matrix.name}.{name}"] = dense[start : start + matrix.fan_out]
    return named


def table_views(
    shape: SuperNetShape, layout: Layout, tables: Float32Array
) -> dict[str, Float32Array]:
    """The named embeddings inside the embedding buffer."""
    named = {}
    for (name, size), row in zip(shape.embeddings.items(), layout.plan.columns, strict=True):
        start, stride = int(row[Column.TABLE]), int(row[Column.STRIDE])
        table = tables[start : start + size[0] * stride].reshape(size[0], stride)
        named[name] = table[:, : size[1]]
    return named


def optimizer_settings(optimizer: Optimizer) -> Float32Array:
    """[momentum or beta1, beta2, epsilon, weight decay, 1 - beta1, 1 - beta2]."""
    decay = optimizer.weight_decay
    if isinstance(optimizer, Adam):
        beta1, beta2 = optimizer.beta1, optimizer.beta2
        numbers = [beta1, beta2, optimizer.epsilon, decay, 1.0 - beta1, 1.0 - beta2]
    else:
        assert isinstance(optimizer, SGD)
        numbers = [optimizer.momentum, 0.0, 0.0, decay, 0.0, 0.0]
    return np.array(numbers, np.float32)


def bias_corrections(optimizer: Optimizer) -> Float32Array:
    """[2, n]: Adam's 1 / (1 - beta1^n) and 1 / sqrt(1 - beta2^n), up to where both round to 1."""
    if not isinstance(optimizer, Adam):
        return np.ones((2, 1), np.float32)
    slowest = max(optimizer.beta1, optimizer.beta2, 0.5)
    count = min(int(np.ceil(-26.0 * np.log(2.0) / np.log(slowest))) + 2, 1 << 20)
    n = np.maximum(np.arange(count, dtype=np.float64), 1.0)
    first = 1.0 / (1.0 - optimizer.beta1**n)
    second = 1.0 / np.sqrt(1.0 - optimizer.beta2**n)
    return np.stack([first, second]).astype(np.float32)
