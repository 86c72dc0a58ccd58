"""The norm of a gradient, by which an exploded one is noticed before any weight moves."""

from __future__ import annotations

from typing import Any

from tabnas.nets.compiled._children import depth_of
from tabnas.nets.compiled._fields import (
    LAYER_BIAS,
    SIZE_LAYERS,
    SIZE_OUTPUTS,
    KernelSpec,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    VECTOR_BYTES,
    ZERO,
    first_lanes,
    load,
    load_number,
    multiply_add,
    reduce_add,
    splat,
    store_number,
)
from tabnas.types import Float32Array, IntArray


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


@njit_inline
def blocks_of(rows: int) -> int:
    """Return how many blocks of LANES rows there are."""
    return (rows + LANES - 1) // LANES


@njit_helper
def sum_squares_by_block(
    start: int, first: int, end: int, stride: int, width: int, squares: int
) -> None:
    """Fill in the sums of the squares of each block of LANES rows of [rows, width].

    Only those from row `first`, a multiple of LANES, to row `end`.
    """
    for row in range(first, end, LANES):
        total = _sum_squares(
            start + row * stride * FLOAT_BYTES, min(LANES, end - row), stride, width
        )
        store_number(total, squares + row // LANES * FLOAT_BYTES)


@njit_helper
def squared_norm(
    spec: KernelSpec, child: IntArray, gradients: Float32Array, squares: int, blocks: int
) -> float:
    """Return the squared norm of a child's gradient; not finite if it overflows.

    The sums of all blocks of the weights, and of the gradient of the embeddings, are at the address
    `squares`. Sums by block do not depend on the threads that have computed them.
    """
    g = address(gradients)
    depth = depth_of(child)
    result = 0.0
    for layer in range(depth + 1):
        index = layer if layer < depth else spec.heads[depth]
        width = child[layer + 1] if layer < depth else spec.sizes[SIZE_OUTPUTS]
        for vector in range(3 if index < spec.sizes[SIZE_LAYERS] else 1):
            start = g + spec.layers[index, LAYER_BIAS + vector] * FLOAT_BYTES
            result += _sum_squares(start, 1, 0, width)
    for block in range(blocks):
        result += load_number(squares + block * FLOAT_BYTES)
    return result
