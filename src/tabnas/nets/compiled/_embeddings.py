"""Inputs of a batch: numeric columns copied, embeddings looked up; and the way back."""

from __future__ import annotations

from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._jit import address, inlined, inner
from tabnas.nets.compiled._losses import row_of
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    VECTOR_BYTES,
    load,
    load_number,
    store,
    store_number,
)
from tabnas.types import IntArray

# columns of Plan.columns, see _layout.Column
DIMENSION, STRIDE, TABLE, FIRST_ROW, INPUT, CATEGORIES = 0, 1, 2, 3, 4, 5


@inner
def gather(
    columns: IntArray, tables: Float32Array, numeric: Float32Array, categorical: Int32Array,
    rows: IntArray, start: int, count: int, x: int, stride: int, ids: Int32Array,
) -> None:  # fmt: skip
    """Fill x [count, inputs] at an address; keep the category numbers in ids [embeddings, rows].

    Embeddings are copied in whole vectors from left to right: what one writes beyond its own units
    the next overwrites, and the last needs room for a vector at the end of the row.
    """
    whole = numeric.shape[1] // LANES * VECTOR_BYTES
    for i in range(count):
        begin = address(numeric) + row_of(rows, start, i) * numeric.strides[0]
        out = x + i * stride * FLOAT_BYTES
        for at in range(0, whole, VECTOR_BYTES):
            store(load(begin + at), out + at)
        for at in range(whole, numeric.strides[0], FLOAT_BYTES):
            store_number(load_number(begin + at), out + at)
    for c in range(columns.shape[0]):
        table = address(tables) + columns[c, TABLE] * FLOAT_BYTES
        category_bytes = columns[c, STRIDE] * FLOAT_BYTES
        size = columns[c, DIMENSION] * FLOAT_BYTES
        out = x + columns[c, INPUT] * FLOAT_BYTES
        for i in range(count):
            category = categorical[row_of(rows, start, i), c]
            if category < 0 or category >= columns[c, CATEGORIES]:
                raise ValueError("category out of range")
            ids[c, i] = category
            begin = table + category * category_bytes
            for at in range(0, size, VECTOR_BYTES):
                store(load(begin + at), out + at)
            out += stride * FLOAT_BYTES


@inlined
def merge_repeated(
    first_row: int, unit: int, dimension: int, column: int, ids: Int32Array, counts: IntArray,
    d: Float32Array, slots: Int32Array, touched: Int32Array, sums: Float32Array,
) -> int:  # fmt: skip
    """Sum the gradients of rows that hold the same category of one column.

    ids [workers, embeddings, rows], counts [workers], d [workers, rows, embedded units]. The sums
    [categories found, at least dimension] come in the order in which the categories appear; that
    order is left in `touched`, and in `slots` (-1 elsewhere). Returns how many were found.
    """
    size = dimension * FLOAT_BYTES
    sum_base, sum_stride = address(sums), sums.strides[0]
    found = 0
    for worker in range(counts.size):
        of = address(d) + worker * d.strides[0] + unit * FLOAT_BYTES
        for i in range(counts[worker]):
            category = ids[worker, column, i]
            slot = slots[first_row + category]
            if slot < 0:
                slots[first_row + category] = found
                touched[found] = category
                to = sum_base + found * sum_stride
                for at in range(0, size, VECTOR_BYTES):
                    store(load(of + at), to + at)
                found += 1
            else:
                to = sum_base + slot * sum_stride
                for at in range(0, size, VECTOR_BYTES):
                    store(load(to + at) + load(of + at), to + at)
            of += d.strides[1]
    return found
