"""Row strides of matrices, in numbers (not bytes)."""

from __future__ import annotations

from tabnas.nets.compiled._jit import njit_helper
from tabnas.nets.compiled._vectors import LANES


def round_up_to_lanes(columns: int) -> int:
    """Return the number of columns, rounded up to full vectors.

    >>> round_up_to_lanes(20)
    24
    """
    return (columns + LANES - 1) // LANES * LANES


def row_stride(columns: int) -> int:
    """Return the number of columns, rounded up to full vectors and off the multiples of 128.

    Rows that lie a large power of two apart compete for the same few places in the cache.

    >>> row_stride(20), row_stride(512), row_stride(0)
    (24, 528, 0)
    """
    stride = (columns + LANES - 1) // LANES * LANES
    if stride > 0 and stride % 128 == 0:
        stride += 2 * LANES
    return stride


def max_row_stride(columns: int) -> int:
    """Return an upper bound of `row_stride` for up to that many columns; it is not monotonic.

    >>> row_stride(128), row_stride(136), max_row_stride(136)
    (144, 136, 152)
    """
    return round_up_to_lanes(columns) + 2 * LANES


def size_of_positions(columns: int, rows: int) -> int:
    """Return how many numbers the positions of values between knots take, see `embed_numbers`.

    >>> size_of_positions(3, 9)
    96
    """
    return 2 * columns * ((rows + LANES - 1) // LANES * LANES)


positions_size = njit_helper(size_of_positions)
"""`size_of_positions` for kernels."""
stride_of = njit_helper(row_stride)
"""`row_stride` for kernels."""
