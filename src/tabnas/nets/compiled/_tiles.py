"""The inner loop of every matrix product, in vector instructions.

A tile is a block of R rows times V vectors of the product C = A B that stays in registers while
the sum over k runs: each step loads V vectors of B, broadcasts R elements of A and does R * V fused
multiply-adds. BLAS reaches the same speed on large matrices, yet copies ("packs") its operands
first, which costs as much as the product itself at the sizes of tabular networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from tabnas.nets.compiled._vectors import (
    FLOAT,
    INT,
    LANES,
    VECTOR,
    VECTOR_BYTES,
    ZEROS,
    cgutils,
    emit_broadcast,
    emit_call,
    emit_load,
    emit_offset,
    emit_shuffle,
    emit_store,
    intrinsic,
)


def _emit_tile(builder: Any, arguments: list[Any], rows: int, vectors: int) -> None:
    """Emit C[i, :] = (C[i, :] if accumulate) + sum_p A[i, p] B[p, :]; strides are in bytes."""
    a, a_row, a_step, b, b_step, c, c_row, steps, accumulate = arguments
    a_rows, c_rows = [ir.Constant(INT, 0)], [c]
    for _ in range(1, rows):
        a_rows.append(builder.add(a_rows[-1], a_row))
        c_rows.append(builder.add(c_rows[-1], c_row))
    cells = [(i, v) for i in range(rows) for v in range(vectors)]
    addresses = {(i, v): emit_offset(builder, c_rows[i], v * VECTOR_BYTES) for i, v in cells}
    # stack slots that LLVM turns into registers
    sums = {cell: cgutils.alloca_once(builder, VECTOR) for cell in cells}
    a_now = cgutils.alloca_once_value(builder, a)
    b_now = cgutils.alloca_once_value(builder, b)
    with builder.if_else(cgutils.is_not_null(builder, accumulate)) as (add, overwrite):
        with add:
            for cell in cells:
                builder.store(emit_load(builder, addresses[cell]), sums[cell])
        with overwrite:
            for cell in cells:
                builder.store(ZEROS, sums[cell])
    with cgutils.for_range(builder, steps):
        a_here, b_here = builder.load(a_now), builder.load(b_now)
        b_vectors = [
            emit_load(builder, emit_offset(builder, b_here, v * VECTOR_BYTES))
            for v in range(vectors)
        ]
        for i in range(rows):
            scalar = emit_load(builder, builder.add(a_here, a_rows[i]), FLOAT)
            a_vector = emit_broadcast(builder, scalar)
            for v in range(vectors):
                terms = [a_vector, b_vectors[v], builder.load(sums[i, v])]
                builder.store(emit_call(builder, "llvm.fmuladd", terms), sums[i, v])
        builder.store(builder.add(a_here, a_step), a_now)
        builder.store(builder.add(b_here, b_step), b_now)
    for cell in cells:
        emit_store(builder, builder.load(sums[cell]), addresses[cell])


def tile(rows: int, vectors: int) -> Callable[..., None]:
    """Return the tile function of that size.

    Its arguments: address, row stride and step stride of A; address and step stride of B; address
    and row stride of C; the number of steps; whether to add to C. All strides in bytes.
    """

    def typing(
        context: Any, a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any,
        c: Any, c_row: Any, steps: Any, accumulate: Any,
    ) -> Any:  # fmt: skip
        def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
            _emit_tile(builder, arguments, rows, vectors)
            return target.get_dummy_value()

        return types.void(*[types.intp] * 9), generate

    function: Callable[..., None] = intrinsic(typing)
    return function


@intrinsic
def transpose_block(context: Any, source: Any, source_row: Any, out: Any, out_row: Any) -> Any:
    """Transpose a block of LANES x LANES; addresses and row strides in bytes."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        source, source_row, out, out_row = arguments
        block = []
        for i in range(LANES):
            block.append(emit_load(builder, source))
            if i + 1 < LANES:
                source = builder.add(source, source_row)
        # exchange the off-diagonal halves of ever smaller sub-blocks
        half = LANES // 2
        while half:
            upper = [j if not j & half else LANES + j - half for j in range(LANES)]
            lower = [j + half if not j & half else LANES + j for j in range(LANES)]
            for i in range(LANES):
                if not i & half:
                    first, second = block[i], block[i + half]
                    block[i] = emit_shuffle(builder, first, second, upper)
                    block[i + half] = emit_shuffle(builder, first, second, lower)
            half //= 2
        for i in range(LANES):
            emit_store(builder, block[i], out)
            if i + 1 < LANES:
                out = builder.add(out, out_row)
        return target.get_dummy_value()

    return types.void(*[types.intp] * 4), generate
