"""Numeric embeddings: values read between knots, and the gradients of the knots."""

from __future__ import annotations

from tabnas.nets.compiled._fields import (
    KNOT_COLUMN,
    KNOT_FIRST,
    KNOT_NUMBER,
    SIZE_INPUTS,
    SIZE_NUMERIC,
    SIZE_TABLE,
    SIZE_TABLE_STRIDE,
    KernelSpec,
    WorkerSpace,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    ONE,
    VECTOR_BYTES,
    ZERO,
    choose_less,
    load,
    load_number,
    splat,
    store,
    store_number,
    where_not_negative,
)
from tabnas.types import Float32Array, IntArray


@njit_inline
def dimension_of(spec: KernelSpec, child: IntArray) -> int:
    """Return the dimension of a child's numeric embeddings."""
    if spec.knot_columns.shape[0] == 0:
        return 0
    dimension: int = (child[0] - spec.sizes[SIZE_INPUTS]) // spec.knot_columns.shape[0]
    return dimension


@njit_inline
def _locate(spec: KernelSpec, column: int, position: int) -> None:
    """Replace eight values at an address by fractions, and write the knots before them after it.

    Eight values are compared with one knot after another, which needs no branches, as a binary
    search would. The knots are counted from the first of the column on, as float32 numbers.
    """
    first, number = spec.knot_columns[column, KNOT_FIRST], spec.knot_columns[column, KNOT_NUMBER]
    knots = address(spec.knots) + first * FLOAT_BYTES
    gaps = knots + spec.knots.strides[0]
    numbers = gaps + spec.knots.strides[0]
    value, one = load(position), splat(ONE)
    before, gap, index = splat(load_number(knots)), splat(load_number(gaps)), splat(ZERO)
    for at in range(FLOAT_BYTES, (number - 1) * FLOAT_BYTES, FLOAT_BYTES):
        knot = splat(load_number(knots + at))
        before = choose_less(value, knot, before, knot)
        gap = choose_less(value, knot, gap, splat(load_number(gaps + at)))
        # not by adding 1: a sum waits three times as long for the one before as a choice does
        index = choose_less(value, knot, index, splat(load_number(numbers + at)))
    fraction = where_not_negative((value - before) / gap)
    store(choose_less(one, fraction, one, fraction), position)
    store(index, position + VECTOR_BYTES)


@njit_helper
def embed_numbers(
    spec: KernelSpec, parameters: Float32Array, first: int, end: int, dimension: int, x: int,
    stride: int, positions: int,
) -> None:  # fmt: skip
    """Write numeric embeddings to the ends of rows `first` to `end` of x [count, inputs].

    `first` is a multiple of eight. Where the values lie between the knots is left at the address
    `positions`, in blocks of eight rows: [blocks, columns, 2, 8], first the fractions of the way
    from one knot to the next, then the knots before the values.
    """
    columns = spec.knot_columns.shape[0]
    table = address(parameters) + spec.sizes[SIZE_TABLE] * FLOAT_BYTES
    table_stride = spec.sizes[SIZE_TABLE_STRIDE] * FLOAT_BYTES
    row_bytes = stride * FLOAT_BYTES
    for begin in range(first, end, LANES):
        rows = min(LANES, end - begin)
        block = positions + begin * columns * 2 * FLOAT_BYTES
        for c in range(columns):
            value = x + begin * row_bytes + spec.knot_columns[c, KNOT_COLUMN] * FLOAT_BYTES
            for i in range(rows):
                position = block + (c * 2 * LANES + i) * FLOAT_BYTES
                store_number(load_number(value + i * row_bytes), position)
        for c in range(columns):
            _locate(spec, c, block + c * 2 * VECTOR_BYTES)
        for i in range(rows):
            out = x + (begin + i) * row_bytes + spec.sizes[SIZE_INPUTS] * FLOAT_BYTES
            position = block + i * FLOAT_BYTES
            for c in range(columns):
                fraction = load_number(position)
                knot = spec.knot_columns[c, KNOT_FIRST] + int(load_number(position + VECTOR_BYTES))
                at = table + knot * FLOAT_BYTES
                to = out + c * FLOAT_BYTES
                for _ in range(dimension):
                    left, right = load_number(at), load_number(at + FLOAT_BYTES)
                    store_number(left + fraction * (right - left), to)
                    at += table_stride
                    to += columns * FLOAT_BYTES
                position += 2 * VECTOR_BYTES


@njit_helper
def sum_by_knot(
    spec: KernelSpec, dimension: int, count: int, positions: int, first: int, end: int,
    space: WorkerSpace,
) -> None:  # fmt: skip
    """Fill the gradient of the numeric embeddings, and mark the knots that a value has read.

    Only those of the embedded columns from `first` to `end`. One row after another: the next value
    then belongs to another column, and its sums do not wait for those of the one before.
    """
    columns = spec.knot_columns.shape[0]
    stride = spec.sizes[SIZE_TABLE_STRIDE]
    start = spec.sizes[SIZE_TABLE]
    marked = start + spec.dimensions[-1] * stride
    if first < end:
        last = spec.knot_columns[end - 1]
        begin, stop = spec.knot_columns[first, KNOT_FIRST], last[KNOT_FIRST] + last[KNOT_NUMBER]
        for row in range(start, start + dimension * stride, stride):
            space.gradients[row + begin : row + stop] = ZERO
        space.gradients[marked + begin : marked + stop] = ZERO
    table = address(space.gradients) + start * FLOAT_BYTES
    marks = address(space.gradients) + marked * FLOAT_BYTES
    unit = spec.sizes[SIZE_INPUTS] - spec.sizes[SIZE_NUMERIC]
    grads = address(space.embedding_grad) + unit * FLOAT_BYTES
    for i in range(count):
        lane = i % LANES
        position = positions + (((i - lane) * columns + first * LANES) * 2 + lane) * FLOAT_BYTES
        row = grads + i * space.embedding_grad.strides[0]
        for c in range(first, end):
            fraction = load_number(position)
            knot = spec.knot_columns[c, KNOT_FIRST] + int(load_number(position + VECTOR_BYTES))
            at = knot * FLOAT_BYTES
            if fraction < ONE:
                store_number(ONE, marks + at)
            if fraction > ZERO:
                store_number(ONE, marks + at + FLOAT_BYTES)
            at += table
            unit_grad = row + c * FLOAT_BYTES
            for _ in range(dimension):
                grad = load_number(unit_grad)
                right = fraction * grad
                store_number(load_number(at) + (grad - right), at)
                store_number(load_number(at + FLOAT_BYTES) + right, at + FLOAT_BYTES)
                at += stride * FLOAT_BYTES
                unit_grad += columns * FLOAT_BYTES
            position += 2 * VECTOR_BYTES
