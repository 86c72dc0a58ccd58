"""The memory layout: one flat buffer for all dense layers, one for all embeddings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tabnas.nets._network_spec import Loss
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._shape import NUMERIC_EMBEDDING, DenseLayer, SuperNetShape
from tabnas.nets.compiled._fields import (
    EMBEDDING_COUNT,
    EMBEDDING_STRIDE,
    EMBEDDING_TABLE,
    KNOT_COUNT,
    LAYER_BIAS,
    LAYER_COUNT,
    LAYER_IN_COUNT,
    LAYER_IN_WIDTHS,
    LAYER_OUT_COUNT,
    LAYER_OUT_WIDTHS,
    LAYER_SCALE,
    LAYER_SHIFT,
    LAYER_STEPS,
    LAYER_STRIDE,
    LAYER_WEIGHT,
    SIZE_COUNT,
    SIZE_INPUTS,
    SIZE_KNOTS,
    SIZE_LAYERS,
    SIZE_LOSS,
    SIZE_NUMERIC,
    SIZE_OUTPUTS,
    SIZE_TABLE,
    SIZE_TABLE_STEPS,
    SIZE_TABLE_STRIDE,
    KernelSpec,
)
from tabnas.nets.compiled._losses import LOGISTIC, SOFTMAX, SQUARED_ERROR
from tabnas.nets.compiled._strides import (
    max_row_stride,
    round_up_to_lanes,
    row_stride,
    size_of_positions,
)
from tabnas.nets.compiled._vectors import LANES
from tabnas.types import Float32Array, IntArray

LOSSES = {Loss.LOGISTIC: LOGISTIC, Loss.SOFTMAX: SOFTMAX, Loss.SQUARED_ERROR: SQUARED_ERROR}
VECTORS = {"bias": LAYER_BIAS, "scale": LAYER_SCALE, "shift": LAYER_SHIFT}


class Layout(NamedTuple):
    """What the kernels know of the network, and the buffer sizes, which only Python needs."""

    spec: KernelSpec
    size: int  # numbers in the buffer of the dense layers
    step_counts: int
    table_size: int  # numbers in the buffer of the embeddings
    categories: int  # of all embeddings together


def build_layout(shape: SuperNetShape) -> Layout:
    """Assign an offset to every array of the SuperNet."""
    layers: list[IntArray] = []
    widths: list[int] = []
    size = steps = 0
    for layer in shape.dense_layers:
        row = np.zeros(LAYER_COUNT, np.int64)
        stride = row_stride(layer.fan_out)
        row[LAYER_STRIDE] = stride
        row[LAYER_WEIGHT] = size
        # transposing reads full blocks, from any row on
        size += stride * (layer.fan_in + LANES)
        for field in VECTORS.values():
            row[field] = size
            size += stride if layer.is_hidden or field == LAYER_BIAS else 0
        row[LAYER_IN_WIDTHS], row[LAYER_IN_COUNT] = len(widths), len(layer.in_widths)
        widths += layer.in_widths
        row[LAYER_OUT_WIDTHS], row[LAYER_OUT_COUNT] = len(widths), len(layer.out_widths)
        widths += layer.out_widths
        row[LAYER_STEPS] = steps
        steps += len(layer.in_widths) * len(layer.out_widths)
        layers.append(row)
    heads = np.full(shape.max_depth + 1, -1, np.int64)
    heads[list(shape.depths)] = shape.max_depth + np.arange(len(shape.depths))
    embeddings, table_size, categories = _lay_out_embeddings(shape)
    sizes = _sizes(shape)
    # numeric embeddings: a row for each dimension, and one that marks the knots a batch has read
    sizes[SIZE_TABLE], sizes[SIZE_TABLE_STEPS] = size, steps
    sizes[SIZE_TABLE_STRIDE] = round_up_to_lanes(shape.knots)
    size += int(sizes[SIZE_TABLE_STRIDE]) * (shape.dimensions[-1] + 1)
    steps += len(shape.table_dimensions) * shape.knots
    knot_columns, knots = _lay_out_knots(shape)
    dimensions = np.array(shape.table_dimensions, np.int64)
    spec = KernelSpec(
        sizes, np.array(layers), np.array(widths, np.int64), heads, embeddings, knot_columns,
        dimensions, knots,
    )  # fmt: skip
    return Layout(spec, size, steps, table_size, categories)


def buffer_size(shape: SuperNetShape, rows: int) -> int:
    """Return how many numbers the arrays of a step on `rows` rows take, for any child.

    See `partition_workspace`. A narrower child may have a larger stride than the widest.
    """
    inputs = shape.spec.inputs
    width = shape.space.input_width(shape.dimensions[-1])
    hidden = [max_row_stride(layer.fan_out) for layer in shape.hidden_layers]
    ends = max_row_stride(width + LANES) + max_row_stride(shape.spec.outputs)
    per_row = 1 + sum(2 * stride + 1 for stride in hidden) + ends + max(hidden, default=0)
    transposed = max(
        (layer.fan_out + LANES) * max_row_stride(layer.fan_in) for layer in shape.dense_layers
    )
    fans = [layer.fan_in for layer in shape.dense_layers]
    squares = sum(-(-count // LANES) for count in (*fans, rows))
    columns = len(inputs.embedded_numeric) if shape.knots else 0
    return rows * per_row + size_of_positions(columns, rows) + squares + transposed


def _sizes(shape: SuperNetShape) -> IntArray:
    spec = shape.spec
    sizes = np.zeros(SIZE_COUNT, np.int64)
    sizes[SIZE_LAYERS] = shape.max_depth
    sizes[SIZE_NUMERIC] = spec.inputs.numeric
    sizes[SIZE_INPUTS] = spec.inputs.width
    sizes[SIZE_OUTPUTS] = spec.outputs
    sizes[SIZE_LOSS] = LOSSES[spec.loss]
    sizes[SIZE_KNOTS] = shape.knots
    return sizes


def _lay_out_knots(shape: SuperNetShape) -> tuple[IntArray, Float32Array]:
    """Return the fields of every embedded numeric column, and the knots of all with their gaps."""
    inputs = shape.spec.inputs
    if not shape.knots:
        return np.zeros((0, KNOT_COUNT), np.int64), np.zeros((3, 0), np.float32)
    columns = [(column, len(inputs.knots[column])) for column in inputs.embedded_numeric]
    first = np.cumsum([0, *(number for _, number in columns)])
    fields = [(column, first[i], number) for i, (column, number) in enumerate(columns)]
    values = np.concatenate([inputs.knots[column] for column in inputs.embedded_numeric])
    gaps = np.concatenate([np.append(gap, 1.0) for gap in inputs.gaps])
    numbers = np.concatenate([np.arange(number) for _, number in columns])
    return np.array(fields, np.int64), np.stack([values, gaps, numbers]).astype(np.float32)


def _lay_out_embeddings(shape: SuperNetShape) -> tuple[IntArray, int, int]:
    """Return the fields of every embedding, and the total numbers of elements and categories."""
    embeddings = np.zeros((len(shape.category_embeddings), EMBEDDING_COUNT), np.int64)
    table = first_row = 0
    unit = shape.spec.inputs.numeric
    for row, (categories, dimension) in zip(
        embeddings, shape.category_embeddings.values(), strict=True
    ):
        stride = round_up_to_lanes(dimension)
        row[:] = dimension, stride, table, first_row, unit, categories
        table += categories * stride
        first_row += categories
        unit += dimension
    return embeddings, table, first_row


def dense_views(
    shape: SuperNetShape, layout: Layout, dense: Float32Array
) -> dict[str, Float32Array]:
    """Return the named arrays inside a buffer of the dense layers."""
    named: dict[str, Float32Array] = {}
    for layer, row in zip(shape.dense_layers, layout.spec.layers, strict=True):
        named |= _layer_views(layer, row, dense)
    if shape.knots:
        start, stride = layout.spec.sizes[[SIZE_TABLE, SIZE_TABLE_STRIDE]]
        table = dense[start : start + shape.dimensions[-1] * stride].reshape(-1, stride)
        named[NUMERIC_EMBEDDING] = table[:, : shape.knots]
    return named


def _layer_views(layer: DenseLayer, row: IntArray, dense: Float32Array) -> dict[str, Float32Array]:
    stride, start = int(row[LAYER_STRIDE]), int(row[LAYER_WEIGHT])
    weight = dense[start : start + layer.fan_in * stride].reshape(layer.fan_in, stride)
    named = {f"{layer.name}.weight": weight[:, : layer.fan_out]}
    for name, field in VECTORS.items():
        if layer.is_hidden or field == LAYER_BIAS:
            start = int(row[field])
            named[f"{layer.name}.{name}"] = dense[start : start + layer.fan_out]
    return named


def embedding_views(
    shape: SuperNetShape, layout: Layout, tables: Float32Array
) -> dict[str, Float32Array]:
    """Return the named embeddings inside a buffer of the embeddings."""
    named = {}
    for (name, size), row in zip(
        shape.category_embeddings.items(), layout.spec.embeddings, strict=True
    ):
        start, stride = int(row[EMBEDDING_TABLE]), int(row[EMBEDDING_STRIDE])
        table = tables[start : start + size[0] * stride].reshape(size[0], stride)
        named[name] = table[:, : size[1]]
    return named


def optimizer_settings(optimizer: Optimizer) -> Float32Array:
    """[momentum or beta1, beta2, epsilon, weight decay, 1 - beta1, 1 - beta2], see _fields."""
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
