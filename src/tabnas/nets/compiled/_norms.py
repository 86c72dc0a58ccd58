"""The norm of a gradient, by which an exploded one is noticed before any weight moves."""

from __future__ import annotations

from typing import Any

from tabnas.nets.compiled._fields import (
    LAYER_BIAS,
    LAYER_STRIDE,
    LAYER_WEIGHT,
    SIZE_LAYERS,
    SIZE_NUMERIC,
    SIZE_OUTPUTS,
    NetworkSpec,
    WorkerSpace,
)
from tabnas.nets.compiled._forward_backward import depth_of
from tabnas.nets.compiled._jit import address, njit_helper
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    VECTOR_BYTES,
    ZERO,
    first_lanes,
    load,
    multiply_add,
    reduce_add,
    splat,
)
from tabnas.types import IntArray


@njit_helper
def _sum_squares(start: int, rows: int, stride: int, width: int) -> Any:
    """Return the sum of the squares of a block [rows, width]; NaN if an element is NaN."""
    zeros = splat(ZERO)
    end = (width + LANES - 1) // LANES * VECTOR_BYTES
    last = end - VECTOR_BYTES
    left = width - (width - 1) // LANES * LANES
    sums = zeros
    for i in range(rows):
        row = start + i * stride * FLOAT_BYTES
        value = first_lanes(left, load(row + last), zeros)  # lanes beyond the width are arbitrary
        row_sums = value * value
        for at in range(0, last, VECTOR_BYTES):
            value = load(row + at)
            row_sums = multiply_add(value, value, row_sums)
        sums = sums + row_sums
    return reduce_add(sums)


@njit_helper
def squared_norm(spec: NetworkSpec, child: IntArray, space: WorkerSpace, count: int) -> float:
    """Return the squared norm of a child's gradient; not finite if it overflows."""
    g = address(space.gradients)
    depth = depth_of(child)
    fan_in = child[0]
    result = 0.0
    for layer in range(depth + 1):
        index = layer if layer < depth else spec.heads[depth]
        width = child[layer + 1] if layer < depth else spec.sizes[SIZE_OUTPUTS]
        for vector in range(3 if index < spec.sizes[SIZE_LAYERS] else 1):
            start = g + spec.layers[index, LAYER_BIAS + vector] * FLOAT_BYTES
            result += _sum_squares(start, 1, 0, width)
        start = g + spec.layers[index, LAYER_WEIGHT] * FLOAT_BYTES
        result += _sum_squares(start, fan_in, spec.layers[index, LAYER_STRIDE], width)
        fan_in = width
    embedded = child[0] - spec.sizes[SIZE_NUMERIC]
    if embedded > 0:
        start, stride = address(space.embedding_grad), space.embedding_grad.shape[1]
        result += _sum_squares(start, count, stride, embedded)
    return result
