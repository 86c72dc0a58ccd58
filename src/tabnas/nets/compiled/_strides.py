"""Row strides of matrices, in numbers."""

from __future__ import annotations

from tabnas.nets.compiled._jit import inner
from tabnas.nets.compiled._vectors import LANES


def whole_vectors(columns: int) -> int:
    """Columns rounded up to whole vectors.

    >>> whole_vectors(20)
    24
    """
    return (columns + LANES - 1) // LANES * LANES


def row_stride(columns: int) -> int:
    """Columns rounded up to whole vectors, and off the multiples of 128.

    Rows that lie a large power of two apart compete for the same few places in the cache.

    >>> row_stride(20), row_stride(512), row_stride(0)
    (24, 528, 0)
    """
    stride = (columns + LANES - 1) // LANES * LANES
    if stride > 0 and stride % 128 == 0:
        stride += 2 * LANES
    return stride


def room(columns: int) -> int:
    """The largest `row_stride` of up to that many columns; it does not always grow with them.

    >>> row_stride(128), row_stride(136), room(136)
    (144, 136, 152)
    """
    return whole_vectors(columns) + 2 * LANES


stride_of = inner(row_stride)
