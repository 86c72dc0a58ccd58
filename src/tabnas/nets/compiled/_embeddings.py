"""The inputs of a batch: numeric columns copied, embeddings looked up; and their gradients."""

from __future__ import annotations

from tabnas.nets.compiled._fields import (
    EMBEDDING_CATEGORIES,
    EMBEDDING_DIMENSION,
    EMBEDDING_INPUT,
    EMBEDDING_STRIDE,
    EMBEDDING_TABLE,
    Batch,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
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
from tabnas.types import Float32Array, Int32Array, IntArray


@njit_helper
def gather(
    embeddings: IntArray, tables: Float32Array, batch: Batch, first: int, end: int, x: int,
    stride: int, ids: Int32Array,
) -> bool:  # fmt: skip
    """Fill x [count, inputs] at an address, and ids [embeddings, rows] with the categories.

    Only rows from `first` to `end` of the batch are filled. Return whether all their categories
    exist; if not, the rest is left out.

    Embeddings are copied in full vectors from left to right: the next embedding overwrites what
    one writes beyond its own units, and the last needs space for a vector at the end of the row.
    """
    numeric, rows, start = batch.numeric, batch.rows, batch.start
    vectors_end = numeric.shape[1] // LANES * VECTOR_BYTES
    for i in range(first, end):
        begin = address(numeric) + row_of(rows, start, i) * numeric.strides[0]
        out = x + i * stride * FLOAT_BYTES
        for at in range(0, vectors_end, VECTOR_BYTES):
            store(load(begin + at), out + at)
        for at in range(vectors_end, numeric.strides[0], FLOAT_BYTES):
            store_number(load_number(begin + at), out + at)
    for c in range(embeddings.shape[0]):
        table = address(tables) + embeddings[c, EMBEDDING_TABLE] * FLOAT_BYTES
        category_bytes = embeddings[c, EMBEDDING_STRIDE] * FLOAT_BYTES
        size = embeddings[c, EMBEDDING_DIMENSION] * FLOAT_BYTES
        out = x + (first * stride + embeddings[c, EMBEDDING_INPUT]) * FLOAT_BYTES
        for i in range(first, end):
            category = batch.categorical[row_of(rows, start, i), c]
            if category < 0 or category >= embeddings[c, EMBEDDING_CATEGORIES]:
                return False
            ids[c, i] = category
            begin = table + category * category_bytes
            for at in range(0, size, VECTOR_BYTES):
                store(load(begin + at), out + at)
            out += stride * FLOAT_BYTES
    return True


@njit_inline
def sum_by_category(
    first_row: int, unit: int, dimension: int, column: int, ids: Int32Array, counts: IntArray,
    d: Float32Array, slots: Int32Array, touched: Int32Array, sums: Float32Array,
) -> int:  # fmt: skip
    """Sum the gradients of rows that hold the same category of one column.

    ids [workers, embeddings, rows], counts [workers], d [workers, rows, embedded units]. The sums
    [distinct categories, at least dimension] come in the order in which the categories appear; that
    order is left in `touched`, and in `slots` (-1 elsewhere). Return how many categories there are.
    """
    size = dimension * FLOAT_BYTES
    sum_base, sum_stride = address(sums), sums.strides[0]
    distinct = 0
    for worker in range(counts.size):
        source = address(d) + worker * d.strides[0] + unit * FLOAT_BYTES
        for i in range(counts[worker]):
            category = ids[worker, column, i]
            slot = slots[first_row + category]
            if slot < 0:
                slots[first_row + category] = distinct
                touched[distinct] = category
                to = sum_base + distinct * sum_stride
                for at in range(0, size, VECTOR_BYTES):
                    store(load(source + at), to + at)
                distinct += 1
            else:
                to = sum_base + slot * sum_stride
                for at in range(0, size, VECTOR_BYTES):
                    store(load(to + at) + load(source + at), to + at)
            source += d.strides[1]
    return distinct
