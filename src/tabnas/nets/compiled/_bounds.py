"""Whether a gradient has exploded, seen before anything moves."""

from __future__ import annotations

from typing import Any

from tabnas.nets._examples import Float32Array
from tabnas.nets.compiled._jit import address, inner
from tabnas.nets.compiled._layout import Plan
from tabnas.nets.compiled._step import (
    BIAS,
    INPUTS,
    LAYERS,
    NUMERIC,
    OUTPUTS,
    STRIDE,
    WEIGHT,
    depth_of,
)
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    VECTOR_BYTES,
    ZERO,
    first_lanes,
    load,
    multiply_add,
    splat,
    total,
)
from tabnas.types import IntArray


@inner
def _squares(start: int, rows: int, stride: int, width: int) -> Any:
    """The sum of the squares of a block [rows, width]; NaN if one is."""
    zeros = splat(ZERO)
    end = (width + LANES - 1) // LANES * VECTOR_BYTES
    last = end - VECTOR_BYTES
    left = width - (width - 1) // LANES * LANES
    sums = zeros
    for i in range(rows):
        row = start + i * stride * FLOAT_BYTES
        value = first_lanes(left, load(row + last), zeros)  # beyond the width lies anything
        own = value * value
        for at in range(0, last, VECTOR_BYTES):
            value = load(row + at)
            own = multiply_add(value, value, own)
        sums = sums + own
    return total(sums)


@inner
def squared_norm(
    plan: Plan, child: IntArray, gradients: Float32Array, embedding_slopes: Float32Array, count: int
) -> float:
    """The sum of the squares of all that a child's update reads; not finite if it overflows."""
    g = address(gradients)
    depth = depth_of(child)
    fan_in = plan.sizes[INPUTS]
    result = 0.0
    for layer in range(depth + 1):
        index = layer if layer < depth else plan.heads[depth]
        width = child[layer] if layer < depth else plan.sizes[OUTPUTS]
        for vector in range(3 if index < plan.sizes[LAYERS] else 1):
            start = g + plan.matrices[index, BIAS + vector] * FLOAT_BYTES
            result += _squares(start, 1, 0, width)
        start = g + plan.matrices[index, WEIGHT] * FLOAT_BYTES
        result += _squares(start, fan_in, plan.matrices[index, STRIDE], width)
        fan_in = width
    embedded = plan.sizes[INPUTS] - plan.sizes[NUMERIC]
    if embedded > 0:
        start, stride = address(embedding_slopes), embedding_slopes.shape[1]
        result += _squares(start, count, stride, embedded)
    return result
