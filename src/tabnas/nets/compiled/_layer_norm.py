"""LayerNorm and ReLU, forward and backward, over the rows of a batch.

All functions take addresses. Rows lie `stride` numbers apart and are read and written in full
vectors; the lanes beyond the width enter no sum, and what is written there means nothing.
"""

from __future__ import annotations

import numpy as np

from tabnas.nets._shape import NORM_EPSILON
from tabnas.nets.compiled._jit import njit_helper, njit_in_order
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    ONE,
    VECTOR_BYTES,
    ZERO,
    first_lanes,
    load,
    load_number,
    multiply_add,
    real,
    reduce_add,
    splat,
    store,
    store_number,
    where_not_negative,
    where_positive,
)

EPSILON = real(NORM_EPSILON)


@njit_helper
def normalise(
    z: int, bias: int, scale: int, shift: int, inverse: int, out: int, rows: int, width: int,
    stride: int,
) -> None:  # fmt: skip
    """Compute out = relu(scale * x + shift), with x = LayerNorm(z + bias) without its affine part.

    z [rows, width] is overwritten by x; inverse [rows] gets 1 / standard deviation.
    """
    zeros = splat(ZERO)
    per_unit = ONE / real(width)
    end = (width + LANES - 1) // LANES * VECTOR_BYTES
    last = end - VECTOR_BYTES
    left = width - (width - 1) // LANES * LANES
    for i in range(rows):
        row = z + i * stride * FLOAT_BYTES
        result = out + i * stride * FLOAT_BYTES
        sums = zeros
        for at in range(0, last, VECTOR_BYTES):
            value = load(row + at) + load(bias + at)
            store(value, row + at)
            sums = sums + value
        value = load(row + last) + load(bias + last)
        store(value, row + last)
        mean = splat(reduce_add(sums + first_lanes(left, value, zeros)) * per_unit)
        sums = zeros
        for at in range(0, last, VECTOR_BYTES):
            value = load(row + at) - mean
            sums = multiply_add(value, value, sums)
        value = first_lanes(left, load(row + last) - mean, zeros)
        variance = reduce_add(multiply_add(value, value, sums)) * per_unit
        factor = ONE / np.sqrt(variance + EPSILON)
        store_number(factor, inverse + i * FLOAT_BYTES)
        factors = splat(factor)
        for at in range(0, end, VECTOR_BYTES):
            value = (load(row + at) - mean) * factors
            store(value, row + at)
            value = multiply_add(value, load(scale + at), load(shift + at))
            store(where_not_negative(value), result + at)


@njit_helper
def normalise_backward(
    d: int, x: int, inverse: int, out: int, scale: int, rows: int, width: int, stride: int
) -> None:
    """Replace d = dL/dout by dL/dy, and `out` by dL/dz.

    With y = scale * x + shift and u = scale * dL/dy,
    dL/dz = inverse * (u - mean(u) - x * mean(u * x)).
    """
    zeros = splat(ZERO)
    per_unit = ONE / real(width)
    end = (width + LANES - 1) // LANES * VECTOR_BYTES
    last = end - VECTOR_BYTES
    left = width - (width - 1) // LANES * LANES
    for i in range(rows):
        row = d + i * stride * FLOAT_BYTES
        normal = x + i * stride * FLOAT_BYTES
        result = out + i * stride * FLOAT_BYTES
        sums, products = zeros, zeros
        for at in range(0, last, VECTOR_BYTES):
            grad = where_positive(load(result + at), load(row + at))
            store(grad, row + at)
            u = grad * load(scale + at)
            store(u, result + at)
            sums = sums + u
            products = multiply_add(u, load(normal + at), products)
        # beyond the width are units of wider children, which may be NaN
        grad = first_lanes(left, where_positive(load(result + last), load(row + last)), zeros)
        store(grad, row + last)
        u = first_lanes(left, grad * load(scale + last), zeros)
        store(u, result + last)
        sums = sums + u
        products = multiply_add(u, first_lanes(left, load(normal + last), zeros), products)
        mean = splat(reduce_add(sums) * per_unit)
        minus_mean_product = splat(ZERO - reduce_add(products) * per_unit)
        inverses = splat(load_number(inverse + i * FLOAT_BYTES))
        for at in range(0, end, VECTOR_BYTES):
            value = inverses * multiply_add(
                load(normal + at), minus_mean_product, load(result + at) - mean
            )
            store(value, result + at)


@njit_in_order
def sum_norm_gradients(
    d: int, x: int, d_z: int, d_bias: int, d_scale: int, d_shift: int, rows: int, begin: int,
    end: int, stride: int,
) -> None:  # fmt: skip
    """Add the gradients of some rows to those of bias, scale and shift.

    Only those of the units from `begin` to `end`. d = dL/dy and d_z = dL/dz are those of
    `normalise_backward`. What the lanes beyond the last unit get means nothing.
    """
    for at in range(begin * FLOAT_BYTES, end * FLOAT_BYTES, 2 * VECTOR_BYTES):
        # two vectors at once, whose sums do not wait for each other; the last may be both
        then = at + VECTOR_BYTES if at + VECTOR_BYTES < end * FLOAT_BYTES else at
        bias, then_bias = load(d_bias + at), load(d_bias + then)
        scale, then_scale = load(d_scale + at), load(d_scale + then)
        shift, then_shift = load(d_shift + at), load(d_shift + then)
        for row in range(0, rows * stride * FLOAT_BYTES, stride * FLOAT_BYTES):
            grad, then_grad = load(d + row + at), load(d + row + then)
            shift, then_shift = shift + grad, then_shift + then_grad
            scale = multiply_add(grad, load(x + row + at), scale)
            then_scale = multiply_add(then_grad, load(x + row + then), then_scale)
            bias, then_bias = bias + load(d_z + row + at), then_bias + load(d_z + row + then)
        store(bias, d_bias + at)
        store(scale, d_scale + at)
        store(shift, d_shift + at)
        store(then_bias, d_bias + then)
        store(then_scale, d_scale + then)
        store(then_shift, d_shift + then)


@njit_helper
def clear(start: int, begin: int, end: int) -> None:
    """Set numbers from `begin` to `end` to 0, in full vectors."""
    for at in range(begin * FLOAT_BYTES, end * FLOAT_BYTES, VECTOR_BYTES):
        store(splat(ZERO), start + at)


@njit_helper
def add_bias(z: int, bias: int, rows: int, width: int, stride: int) -> None:
    """Add the bias to every row of z, in place."""
    for i in range(rows):
        row = z + i * stride * FLOAT_BYTES
        for at in range(0, width * FLOAT_BYTES, VECTOR_BYTES):
            store(load(row + at) + load(bias + at), row + at)


@njit_helper
def sum_rows(d: int, out: int, rows: int, begin: int, end: int, stride: int) -> None:
    """Compute out[j] = sum over i of d[i, j], for j from `begin` to `end`."""
    for at in range(begin * FLOAT_BYTES, end * FLOAT_BYTES, VECTOR_BYTES):
        sums = splat(ZERO)
        for i in range(rows):
            sums = sums + load(d + i * stride * FLOAT_BYTES + at)
        store(sums, out + at)
