"""Matrix products of leading blocks, row-major, any row stride.

Vectors run along the columns of the result, so the number of columns is rounded up to full vectors:
rows of B and C must have space for that, and what lands in C beyond the requested columns means
nothing. Rows and the dimension summed over are exact. The order of every sum depends only on the
sizes.
"""

from __future__ import annotations

from tabnas.nets.compiled._jit import njit_helper, njit_inline
from tabnas.nets.compiled._tiles import tile, transpose_block
from tabnas.nets.compiled._vectors import FLOAT_BYTES, LANES, VECTOR_BYTES

# blocks of A and B that stay in the first two cache levels while they are used
STEP_BLOCK = 128
ROW_BLOCK = 96

_tile_4x3, _tile_2x3, _tile_1x3 = tile(4, 3), tile(2, 3), tile(1, 3)
_tile_6x2, _tile_2x2, _tile_1x2 = tile(6, 2), tile(2, 2), tile(1, 2)
_tile_6x1, _tile_2x1, _tile_1x1 = tile(6, 1), tile(2, 1), tile(1, 1)


@njit_helper
def _panel(
    a: int, a_row: int, a_step: int, b: int, b_step: int, c: int, c_row: int,
    rows: int, vectors: int, steps: int, add: int,
) -> None:  # fmt: skip
    """Compute a panel of a product whose columns are one to three vectors."""
    i = 0
    if vectors == 3:
        while i + 4 <= rows:
            _tile_4x3(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
            i += 4
        if i + 2 <= rows:
            _tile_2x3(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
            i += 2
        if i < rows:
            _tile_1x3(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
    elif vectors == 2:
        while i + 6 <= rows:
            _tile_6x2(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
            i += 6
        while i + 2 <= rows:
            _tile_2x2(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
            i += 2
        if i < rows:
            _tile_1x2(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
    else:
        while i + 6 <= rows:
            _tile_6x1(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
            i += 6
        while i + 2 <= rows:
            _tile_2x1(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)
            i += 2
        if i < rows:
            _tile_1x1(a + i * a_row, a_row, a_step, b, b_step, c + i * c_row, c_row, steps, add)


@njit_helper
def _product(
    a: int, a_row: int, a_step: int, b: int, b_step: int, c: int, c_row: int,
    rows: int, columns: int, steps: int,
) -> None:  # fmt: skip
    """Compute C[rows, columns] = A[rows, steps] B[steps, columns]; addresses, strides in bytes."""
    vectors = (columns + LANES - 1) // LANES
    for step in range(0, steps, STEP_BLOCK):
        step_count = min(STEP_BLOCK, steps - step)
        add = 1 if step > 0 else 0
        for row in range(0, rows, ROW_BLOCK):
            row_count = min(ROW_BLOCK, rows - row)
            a_block = a + row * a_row + step * a_step
            done = 0
            while done < vectors:
                left = vectors - done
                # four vectors go as two and two, since a single one keeps few registers busy
                width = 3 if left == 3 or left >= 5 else min(left, 2)
                _panel(
                    a_block, a_row, a_step, b + step * b_step + done * VECTOR_BYTES, b_step,
                    c + row * c_row + done * VECTOR_BYTES, c_row, row_count, width, step_count, add,
                )  # fmt: skip
                done += width


@njit_inline
def multiply(
    a: int, a_stride: int, b: int, b_stride: int, out: int, out_stride: int,
    rows: int, columns: int, steps: int,
) -> None:  # fmt: skip
    """Compute out[:rows, :columns] = a[:rows, :steps] @ b[:steps, :columns].

    Matrices are given as addresses and row strides.
    """
    _product(
        a, a_stride * FLOAT_BYTES, FLOAT_BYTES, b, b_stride * FLOAT_BYTES,
        out, out_stride * FLOAT_BYTES, rows, columns, steps,
    )  # fmt: skip


@njit_inline
def multiply_transposed(
    a: int, a_stride: int, b: int, b_stride: int, out: int, out_stride: int,
    rows: int, columns: int, steps: int,
) -> None:  # fmt: skip
    """Compute out[:rows, :columns] = a[:steps, :rows].T @ b[:steps, :columns].

    Matrices are given as addresses and row strides.
    """
    _product(
        a, FLOAT_BYTES, a_stride * FLOAT_BYTES, b, b_stride * FLOAT_BYTES,
        out, out_stride * FLOAT_BYTES, rows, columns, steps,
    )  # fmt: skip


@njit_helper
def transpose(
    source: int, source_stride: int, out: int, out_stride: int, rows: int, columns: int
) -> None:
    """Compute out[:columns, :rows] = source[:rows, :columns].T, both rounded up to full blocks."""
    source_row, out_row = source_stride * FLOAT_BYTES, out_stride * FLOAT_BYTES
    for i in range(0, rows, LANES):
        for j in range(0, columns, LANES):
            transpose_block(
                source + i * source_row + j * FLOAT_BYTES, source_row,
                out + j * out_row + i * FLOAT_BYTES, out_row,
            )  # fmt: skip
