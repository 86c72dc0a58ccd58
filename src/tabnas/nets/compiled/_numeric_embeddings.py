"""Numeric embeddings: values read between knots, and the gradients of the knots."""

from __future__ import annotations

from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._fields import (
    KNOT_COLUMN,
    KNOT_FIRST,
    KNOT_NUMBER,
    SIZE_INPUTS,
    SIZE_NUMERIC,
    SIZE_TABLE,
    SIZE_TABLE_STRIDE,
    Batch,
    NetworkSpec,
    WorkerSpace,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._losses import row_of
from tabnas.nets.compiled._vectors import FLOAT_BYTES, ONE, ZERO, load_number, store_number
from tabnas.types import IntArray


@njit_inline
def dimension_of(spec: NetworkSpec, child: IntArray) -> int:
    """Return the dimension of a child's numeric embeddings."""
    if spec.knot_columns.shape[0] == 0:
        return 0
    dimension: int = (child[0] - spec.sizes[SIZE_INPUTS]) // spec.knot_columns.shape[0]
    return dimension


@njit_inline
def _find_knot(knots: Float32Array, first: int, number: int, value: float) -> int:
    """Return the last of `number` knots from `first` on that is not above the value.

    It is never the last of them, and the first if all are above.
    """
    left = number - 1
    while left > 1:
        half = left // 2
        first += half if knots[0, first + half] <= value else 0
        left -= half
    return first


@njit_helper
def embed_numbers(
    spec: NetworkSpec, parameters: Float32Array, batch: Batch, dimension: int, x: int, stride: int,
    ids: Int32Array, fractions: int,
) -> None:  # fmt: skip
    """Write the numeric embeddings of a batch to the ends of the rows of x [count, inputs].

    The knot before each value is left in the last rows of ids, [columns, rows], and the fraction of
    the way to the next one at the address `fractions`, [columns, rows].
    """
    columns = spec.knot_columns.shape[0]
    before = ids.shape[0] - columns
    table = address(parameters) + spec.sizes[SIZE_TABLE] * FLOAT_BYTES
    table_stride = spec.sizes[SIZE_TABLE_STRIDE] * FLOAT_BYTES
    for c in range(columns):
        column = spec.knot_columns[c, KNOT_COLUMN]
        first, number = spec.knot_columns[c, KNOT_FIRST], spec.knot_columns[c, KNOT_NUMBER]
        out = x + (spec.sizes[SIZE_INPUTS] + c) * FLOAT_BYTES
        for i in range(batch.n_rows):
            value = batch.numeric[row_of(batch.rows, batch.start, i), column]
            knot = _find_knot(spec.knots, first, number, value)
            fraction = (value - spec.knots[0, knot]) / spec.knots[1, knot]
            fraction = min(max(fraction, ZERO), ONE)
            ids[before + c, i] = knot
            store_number(fraction, fractions + (c * batch.n_rows + i) * FLOAT_BYTES)
            at = table + knot * FLOAT_BYTES
            to = out
            for _ in range(dimension):
                left, right = load_number(at), load_number(at + FLOAT_BYTES)
                store_number(left + fraction * (right - left), to)
                at += table_stride
                to += columns * FLOAT_BYTES
            out += stride * FLOAT_BYTES


@njit_helper
def sum_by_knot(
    spec: NetworkSpec, dimension: int, count: int, fractions: int, space: WorkerSpace
) -> None:
    """Fill the gradient of the numeric embeddings, and mark the knots that a value has read."""
    columns = spec.knot_columns.shape[0]
    before = space.ids.shape[0] - columns
    table_stride = spec.sizes[SIZE_TABLE_STRIDE]
    start = spec.sizes[SIZE_TABLE]
    marks = start + spec.dimensions[-1] * table_stride
    gradients = space.gradients
    gradients[start : start + dimension * table_stride] = ZERO
    gradients[marks : marks + table_stride] = ZERO
    unit = spec.sizes[SIZE_INPUTS] - spec.sizes[SIZE_NUMERIC]
    for c in range(columns):
        for i in range(count):
            fraction = load_number(fractions + (c * count + i) * FLOAT_BYTES)
            knot = space.ids[before + c, i]
            if fraction < ONE:
                gradients[marks + knot] = ONE
            if fraction > ZERO:
                gradients[marks + knot + 1] = ONE
            at = start + knot
            for j in range(dimension):
                grad = space.embedding_grad[i, unit + j * columns + c]
                right = fraction * grad
                gradients[at] += grad - right
                gradients[at + 1] += right
                at += table_stride
