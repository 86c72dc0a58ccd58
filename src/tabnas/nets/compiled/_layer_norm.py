"""LayerNorm and ReLU, forward and backward, over the rows of a batch.

All functions take addresses. Rows lie `stride` numbers apart and are read and written in full
vectors; the lanes beyond the width enter no sum, and what is written there means nothing.
"""

from __future__ import annotations

import numpy as np

from tabnas.nets._shape import NORM_EPSILON
from tabnas.nets.compiled._jit import njit_helper
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
    d: int, x: int, inverse: int, out: int, scale: int, d_bias: int, d_scale: int, d_shift: int,
    rows: int, width: int, stride: int,
) -> None:  # fmt: skip
    """Turn d = dL/dout into dL/dz, in place, and sum the gradients of bias, scale and shift.

    With y = scale * x + shift and u = scale * dL/dy,
    dL/dz = inverse * (u - mean(u) - x * mean(u * x)).
    """
    zeros = splat(ZERO)
    per_unit = ONE / real(width)
    end = (width + LANES - 1) // LANES * VECTOR_BYTES
    last = end - VECTOR_BYTES
    left = width - (width - 1) // LANES * LANES
    for at in range(0, end, VECTOR_BYTES):
        store(zeros, d_bias + at)
        store(zeros, d_scale + at)
        store(zeros, d_shift + at)
    for i in range(rows):
        row = d + i * stride * FLOAT_BYTES
        normal = x + i * stride * FLOAT_BYTES
        result = out + i * stride * FLOAT_BYTES
        sums, products = zeros, zeros
        for at in range(0, last, VECTOR_BYTES):
            grad = where_positive(load(result + at), load(row + at))
            normed = load(normal + at)
            store(load(d_shift + at) + grad, d_shift + at)
            store(multiply_add(grad, normed, load(d_scale + at)), d_scale + at)
            u = grad * load(scale + at)
            store(u, row + at)
            sums = sums + u
            products = multiply_add(u, normed, products)
        # beyond the width are units of wider children, which may be NaN
        grad = first_lanes(left, where_positive(load(result + last), load(row + last)), zeros)
        normed = first_lanes(left, load(normal + last), zeros)
        store(load(d_shift + last) + grad, d_shift + last)
        store(multiply_add(grad, normed, load(d_scale + last)), d_scale + last)
        u = first_lanes(left, grad * load(scale + last), zeros)
        store(u, row + last)
        sums = sums + u
        products = multiply_add(u, normed, products)
        mean = splat(reduce_add(sums) * per_unit)
        minus_mean_product = splat(ZERO - reduce_add(products) * per_unit)
        inverses = splat(load_number(inverse + i * FLOAT_BYTES))
        for at in range(0, end, VECTOR_BYTES):
            value = inverses * multiply_add(
                load(normal + at), minus_mean_product, load(row + at) - mean
            )
            store(value, row + at)
            store(load(d_bias + at) + value, d_bias + at)


@njit_helper
def add_bias(z: int, bias: int, rows: int, width: int, stride: int) -> None:
    """Add the bias to every row of z, in place."""
    for i in range(rows):
        row = z + i * stride * FLOAT_BYTES
        for at in range(0, width * FLOAT_BYTES, VECTOR_BYTES):
            store(load(row + at) + load(bias + at), row + at)


@njit_helper
def sum_rows(d: int, out: int, rows: int, width: int, stride: int) -> None:
    """Compute out[j] = sum over i of d[i, j]."""
    for at in range(0, width * FLOAT_BYTES, VECTOR_BYTES):
        sums = splat(ZERO)
        for i in range(rows):
            sums = sums + load(d + i * stride * FLOAT_BYTES + at)
        store(sums, out + at)
