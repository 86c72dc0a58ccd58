"""The optimizers' arithmetic on a block of a matrix (see tabnas.nets._optimizers).

The block has `rows` rows of `count` numbers that lie `stride` bytes apart, in the weights w, their
moments m and v, and the gradient g alike; all four are addresses. Rows are read and written in full
vectors; the neighbours beyond `count` get back the values they had. lr is the learning rate,
`decay` is 1 - lr * weight decay, and `share` the factor of g.
"""

from __future__ import annotations

from typing import Any

from tabnas.nets.compiled._fields import (
    BETA1,
    BETA2,
    EPSILON,
    MOMENTUM,
    ONE_MINUS_BETA1,
    ONE_MINUS_BETA2,
)
from tabnas.nets.compiled._jit import njit_inline
from tabnas.nets.compiled._vectors import (
    FLOAT_BYTES,
    LANES,
    ONE,
    VECTOR_BYTES,
    choose_positive,
    first_lanes,
    load,
    multiply_add,
    splat,
    square_root,
    store,
)
from tabnas.types import Float32Array


@njit_inline
def _replace(old: Any, new: Any, address: int, count: int) -> None:
    """Write the first `count` lanes of a vector, or all of them if `count` is larger."""
    # two cases: from one, LLVM makes a masked store, which is ten times slower on some machines
    if count >= LANES:
        store(new, address)
    else:
        store(first_lanes(count, new, old), address)


@njit_inline
def sgd(
    w: int, g: int, rows: int, stride: int, count: int, lr: float, decay: float, share: float
) -> None:
    """w <- decay * w - lr * share * g."""
    decays, step = splat(decay), splat(-lr * share)
    for row in range(0, rows * stride, stride):
        at = row
        for left in range(count, 0, -LANES):
            old = load(w + at)
            _replace(old, multiply_add(step, load(g + at), decays * old), w + at, left)
            at += VECTOR_BYTES


@njit_inline
def momentum(
    w: int, m: int, g: int, rows: int, stride: int, count: int, lr: float, decay: float,
    share: float, settings: Float32Array,
) -> None:  # fmt: skip
    """m <- momentum * m + share * g;  w <- decay * w - lr * m."""
    decays, step, shared = splat(decay), splat(-lr), splat(share)
    factor = splat(settings[MOMENTUM])
    for row in range(0, rows * stride, stride):
        at = row
        for left in range(count, 0, -LANES):
            old_w, old_m = load(w + at), load(m + at)
            velocity = multiply_add(factor, old_m, shared * load(g + at))
            _replace(old_m, velocity, m + at, left)
            _replace(old_w, multiply_add(step, velocity, decays * old_w), w + at, left)
            at += VECTOR_BYTES


@njit_inline
def _adam_step(
    old_w: Any, old_m: Any, old_v: Any, g: Any, lr: float, decay: float, share: float,
    settings: Float32Array, first: Any, second: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return new weights and moments of one vector."""
    grad = splat(share) * g
    mean = multiply_add(splat(settings[BETA1]), old_m, splat(settings[ONE_MINUS_BETA1]) * grad)
    square = multiply_add(
        splat(settings[BETA2]), old_v, splat(settings[ONE_MINUS_BETA2]) * grad * grad
    )
    denominator = multiply_add(second, square_root(square), splat(settings[EPSILON]))
    new = multiply_add(splat(-lr), first * mean / denominator, splat(decay) * old_w)
    return new, mean, square


@njit_inline
def _adam_cell(
    w: int, m: int, v: int, g: int, left: int, lr: float, decay: float, share: float,
    settings: Float32Array, first: Any, second: Any,
) -> None:  # fmt: skip
    """Apply Adam to one vector; `first` and `second` are vectors."""
    old_w, old_m, old_v = load(w), load(m), load(v)
    new, mean, square = _adam_step(
        old_w, old_m, old_v, load(g), lr, decay, share, settings, first, second
    )
    _replace(old_m, mean, m, left)
    _replace(old_v, square, v, left)
    _replace(old_w, new, w, left)


@njit_inline
def adam(
    w: int, m: int, v: int, g: int, rows: int, stride: int, count: int, lr: float, decay: float,
    share: float, settings: Float32Array, first: int, second: int,
) -> None:  # fmt: skip
    """w <- decay * w - lr * first * m / (second * sqrt(v) + epsilon), m and v updated before.

    first [count] = 1 / (1 - beta1^steps) and second [count] = 1 / sqrt(1 - beta2^steps) of the
    elements of each column.
    """
    for row in range(0, rows * stride, stride):
        at = row
        for left in range(count, 0, -LANES):
            firsts, seconds = load(first + at - row), load(second + at - row)
            _adam_cell(
                w + at, m + at, v + at, g + at, left, lr, decay, share, settings, firsts, seconds
            )
            at += VECTOR_BYTES


@njit_inline
def adam_row(
    w: int, m: int, v: int, g: int, count: int, lr: float, share: float,
    settings: Float32Array, first: float, second: float,
) -> None:  # fmt: skip
    """Apply Adam to one row whose elements have all taken the same number of steps."""
    at = 0
    for left in range(count, 0, -LANES):
        _adam_cell(
            w + at, m + at, v + at, g + at, left, lr, ONE, share, settings, splat(first),
            splat(second),
        )  # fmt: skip
        at += VECTOR_BYTES


@njit_inline
def update_marked(
    w: int, copy_bytes: int, moments: int, g: int, marks: int, count: int, lr: float,
    share: float, settings: Float32Array, corrections: int, corrections_bytes: int,
) -> None:  # fmt: skip
    """Update the elements of a row whose mark is above 0, without weight decay.

    The moments follow w, each `copy_bytes` after the one before. count is a multiple of the lanes.
    """
    for at in range(0, count * FLOAT_BYTES, VECTOR_BYTES):
        mark, grad = load(marks + at), load(g + at)
        old_w = load(w + at)
        if moments == 0:
            new_w = multiply_add(splat(-lr * share), grad, old_w)
        else:
            m = w + copy_bytes + at
            old_m = load(m)
            if moments == 1:
                new_m = multiply_add(splat(settings[MOMENTUM]), old_m, splat(share) * grad)
                new_w = multiply_add(splat(-lr), new_m, old_w)
            else:
                v = m + copy_bytes
                old_v = load(v)
                new_w, new_m, new_v = _adam_step(
                    old_w, old_m, old_v, grad, lr, ONE, share, settings,
                    load(corrections + at), load(corrections + corrections_bytes + at),
                )  # fmt: skip
                store(choose_positive(mark, new_v, old_v), v)
            store(choose_positive(mark, new_m, old_m), m)
        store(choose_positive(mark, new_w, old_w), w + at)
