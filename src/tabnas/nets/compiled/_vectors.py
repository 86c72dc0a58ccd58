"""Vectors of eight float32 numbers as values inside kernels.

Row operations of small networks work on a handful of vectors. For so few, the code that a compiler
adds around a loop that it vectorises itself (checks that arrays do not overlap, remainders) takes
longer than the loop.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic as _intrinsic
from numba.extending import models, overload, register_model

real: Any = np.float32
"""The type of all hot numbers; one double would turn an entire expression into doubles."""
ZERO = real(0.0)
ONE = real(1.0)

LANES = 8  # float32 numbers per vector: one AVX register, two of NEON
FLOAT_BYTES = 4
VECTOR_BYTES = LANES * FLOAT_BYTES

# Numba's type hints do not allow an intrinsic to be called, so it is typed as a plain callable
cgutils: Any = _cgutils
intrinsic: Callable[..., Any] = _intrinsic

FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)
INT = ir.IntType(64)
INDEX = ir.IntType(32)
_LANE_NUMBERS = ir.Constant(ir.VectorType(INDEX, LANES), list(range(LANES)))
_UNDEFINED = ir.Constant(VECTOR, ir.Undefined)
ZEROS = ir.Constant(VECTOR, None)


class VectorType(types.Type):
    """Eight float32 numbers, in Numba's type system."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend: VectorType) -> None:
        super().__init__(manager, frontend, VECTOR)  # type: ignore[no-untyped-call]


Vector = VectorType()


# -- building blocks of generated code -----------------------------------------------------------


def emit_load(builder: Any, address: Any, kind: Any = VECTOR) -> Any:
    """Read a vector (or another kind of value) at an integer address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=FLOAT_BYTES)


def emit_store(builder: Any, value: Any, address: Any) -> None:
    """Write a value at an integer address."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=FLOAT_BYTES)


def emit_offset(builder: Any, address: Any, bytes_: int) -> Any:
    """Return the address some bytes further on."""
    return builder.add(address, ir.Constant(INT, bytes_))


def emit_shuffle(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    """Choose lanes of two vectors, numbered through."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(INDEX, LANES), lanes))


def emit_broadcast(builder: Any, scalar: Any) -> Any:
    """Return a vector with the same number in all lanes."""
    single = builder.insert_element(_UNDEFINED, scalar, ir.Constant(INDEX, 0))
    return emit_shuffle(builder, single, _UNDEFINED, [0] * LANES)


def emit_call(builder: Any, name: str, arguments: list[Any]) -> Any:
    """Call an LLVM function of vectors, such as llvm.sqrt."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * len(arguments))
    function = cgutils.get_or_insert_function(builder.module, kind, f"{name}.v{LANES}f32")
    return builder.call(function, arguments)


def _define(result: Any, arguments: list[Any], emit: Callable[..., Any]) -> Any:
    """Return what an intrinsic must return: its signature and its code generator."""

    def generate(target: Any, builder: Any, signature: Any, values: list[Any]) -> Any:
        value = emit(builder, *values)
        return target.get_dummy_value() if value is None else value

    return result(*arguments), generate


# -- operations ----------------------------------------------------------------------------------


@intrinsic
def load(context: Any, address: Any) -> Any:
    """Return the vector at an address."""
    return _define(Vector, [types.intp], emit_load)


@intrinsic
def store(context: Any, vector: Any, address: Any) -> Any:
    """Write a vector to an address."""
    return _define(types.void, [Vector, types.intp], emit_store)


@intrinsic
def load_number(context: Any, address: Any) -> Any:
    """Return the single float32 number at an address."""

    def emit(builder: Any, address: Any) -> Any:
        return emit_load(builder, address, FLOAT)

    return _define(types.float32, [types.intp], emit)


@intrinsic
def store_number(context: Any, number: Any, address: Any) -> Any:
    """Write a single float32 number to an address."""
    return _define(types.void, [types.float32, types.intp], emit_store)


@intrinsic
def prefetch(context: Any, address: Any) -> Any:
    """Begin to load the cache line at an address, without waiting for it."""

    def emit(builder: Any, address: Any) -> None:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, INDEX, INDEX, INDEX])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # for reading, into all caches, data rather than instructions
        how = [ir.Constant(INDEX, number) for number in (0, 3, 1)]
        builder.call(function, [builder.inttoptr(address, pointer), *how])

    return _define(types.void, [types.intp], emit)


@intrinsic
def splat(context: Any, number: Any) -> Any:
    """Return a vector with the same number in all lanes."""
    return _define(Vector, [types.float32], emit_broadcast)


@intrinsic
def multiply_add(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c."""

    def emit(builder: Any, *values: Any) -> Any:
        return emit_call(builder, "llvm.fmuladd", list(values))

    return _define(Vector, [Vector] * 3, emit)


@intrinsic
def square_root(context: Any, vector: Any) -> Any:
    """Return the square root of every lane."""
    return _define(Vector, [Vector], lambda builder, v: emit_call(builder, "llvm.sqrt", [v]))


@intrinsic
def where_not_negative(context: Any, vector: Any) -> Any:
    """Return the vector with 0 for its negative lanes; NaN stays NaN."""

    def emit(builder: Any, v: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", v, ZEROS), ZEROS, v)

    return _define(Vector, [Vector], emit)


@intrinsic
def where_positive(context: Any, condition: Any, vector: Any) -> Any:
    """Return the vector where the condition is above 0, and 0 elsewhere."""

    def emit(builder: Any, c: Any, v: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", c, ZEROS), v, ZEROS)

    return _define(Vector, [Vector] * 2, emit)


@intrinsic
def choose_positive(context: Any, condition: Any, vector: Any, others: Any) -> Any:
    """Return the lanes of `vector` where the condition is above 0, elsewhere those of `others`."""

    def emit(builder: Any, c: Any, v: Any, others: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", c, ZEROS), v, others)

    return _define(Vector, [Vector] * 3, emit)


@intrinsic
def choose_less(context: Any, a: Any, b: Any, vector: Any, others: Any) -> Any:
    """Return the lanes of `vector` where a < b, elsewhere those of `others`."""

    def emit(builder: Any, a: Any, b: Any, v: Any, others: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", a, b), v, others)

    return _define(Vector, [Vector] * 4, emit)


@intrinsic
def first_lanes(context: Any, count: Any, vector: Any, others: Any) -> Any:
    """Return the first `count` lanes of `vector` and the rest of `others`."""

    def emit(builder: Any, count: Any, vector: Any, others: Any) -> Any:
        number = builder.trunc(count, INDEX)
        limit = ir.Constant(ir.VectorType(INDEX, LANES), ir.Undefined)
        limit = builder.insert_element(limit, number, ir.Constant(INDEX, 0))
        zeros = ir.Constant(ir.VectorType(INDEX, LANES), None)
        limit = builder.shuffle_vector(limit, limit, zeros)
        return builder.select(builder.icmp_signed("<", _LANE_NUMBERS, limit), vector, others)

    return _define(Vector, [types.intp, Vector, Vector], emit)


@intrinsic
def reduce_add(context: Any, vector: Any) -> Any:
    """Return the sum of all lanes, in a fixed order: halves onto halves."""

    def emit(builder: Any, v: Any) -> Any:
        half = LANES // 2
        while half:
            moved = [(lane + half) % LANES for lane in range(LANES)]
            v = builder.fadd(v, emit_shuffle(builder, v, v, moved))
            half //= 2
        return builder.extract_element(v, ir.Constant(INDEX, 0))

    return _define(types.float32, [Vector], emit)


def _operator(python: Callable[..., Any], instruction: str) -> None:
    """Register an arithmetic operator on two vectors with Numba."""

    @intrinsic
    def combine(context: Any, a: Any, b: Any) -> Any:
        def emit(builder: Any, a: Any, b: Any) -> Any:
            return getattr(builder, instruction)(a, b)

        return _define(Vector, [Vector] * 2, emit)

    @overload(python, jit_options={"forceinline": True})
    def typed(a: Any, b: Any) -> Any:
        if not (isinstance(a, VectorType) and isinstance(b, VectorType)):
            return None

        def combined(a: Any, b: Any) -> Any:
            return combine(a, b)

        return combined


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")
