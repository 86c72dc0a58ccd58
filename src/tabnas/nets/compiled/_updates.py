"""The optimisers' arithmetic on a block of a matrix (see tabnas.nets._optimizers).

The block has `rows` rows of `count` numbers that lie `stride` bytes apart, in the weights, their
moments and the gradient alike. Rows are read and written in whole vectors; the neighbours beyond
`count` get back the values they had. `keep` is 1 - rate * weight decay, `share` the weight of g.
"""

from __future__ import annotations

from typing import Any

from tabnas.nets._examples import Float32Array
from tabnas.nets.compiled._jit import inlined
from tabnas.nets.compiled._vectors import (
    LANES,
    ONE,
    VECTOR_BYTES,
    first_lanes,
    load,
    multiply_add,
    splat,
    square_root,
    store,
)

# entries of `settings`
MOMENTUM, BETA1, BETA2, EPSILON, DECAY, REST1, REST2 = 0, 0, 1, 2, 3, 4, 5


@inlined
def _replace(old: Any, new: Any, address: int, count: int) -> None:
    """Write the first `count` lanes of a vector, all of them if there are fewer."""
    # two ways, since a masked store, which LLVM makes of one, is ten times slower on some machines
    if count >= LANES:
        store(new, address)
    else:
        store(first_lanes(count, new, old), address)


@inlined
def sgd(
    w: int, g: int, rows: int, stride: int, count: int, rate: float, keep: float, share: float
) -> None:
    """w <- keep * w - rate * share * g."""
    kept, step = splat(keep), splat(-rate * share)
    for row in range(0, rows * stride, stride):
        at = row
        for left in range(count, 0, -LANES):
            old = load(w + at)
            _replace(old, multiply_add(step, load(g + at), kept * old), w + at, left)
            at += VECTOR_BYTES


@inlined
def momentum(
    w: int, m: int, g: int, rows: int, stride: int, count: int, rate: float, keep: float,
    share: float, settings: Float32Array,
) -> None:  # fmt: skip
    """m <- momentum * m + share * g;  w <- keep * w - rate * m."""
    kept, step, shared = splat(keep), splat(-rate), splat(share)
    decay = splat(settings[MOMENTUM])
    for row in range(0, rows * stride, stride):
        at = row
        for left in range(count, 0, -LANES):
            old_w, old_m = load(w + at), load(m + at)
            velocity = multiply_add(decay, old_m, shared * load(g + at))
            _replace(old_m, velocity, m + at, left)
            _replace(old_w, multiply_add(step, velocity, kept * old_w), w + at, left)
            at += VECTOR_BYTES


@inlined
def _adam_cell(
    w: int, m: int, v: int, g: int, left: int, rate: float, keep: float, share: float,
    settings: Float32Array, first: Any, second: Any,
) -> None:  # fmt: skip
    """One vector of Adam; `first` and `second` are vectors."""
    old_w, old_m, old_v = load(w), load(m), load(v)
    slope = splat(share) * load(g)
    mean = multiply_add(splat(settings[BETA1]), old_m, splat(settings[REST1]) * slope)
    square = multiply_add(splat(settings[BETA2]), old_v, splat(settings[REST2]) * slope * slope)
    spread = multiply_add(second, square_root(square), splat(settings[EPSILON]))
    new = multiply_add(splat(-rate), first * mean / spread, splat(keep) * old_w)
    _replace(old_m, mean, m, left)
    _replace(old_v, square, v, left)
    _replace(old_w, new, w, left)


@inlined
def adam(
    w: int, m: int, v: int, g: int, rows: int, stride: int, count: int, rate: float, keep: float,
    share: float, settings: Float32Array, first: int, second: int,
) -> None:  # fmt: skip
    """w <- keep * w - rate * first * m / (second * sqrt(v) + epsilon), m and v updated before.

    first [count] = 1 / (1 - beta1^steps) and second [count] = 1 / sqrt(1 - beta2^steps) of the
    elements of each column.
    """
    for row in range(0, rows * stride, stride):
        at = row
        for left in range(count, 0, -LANES):
            firsts, seconds = load(first + at - row), load(second + at - row)
            _adam_cell(
                w + at, m + at, v + at, g + at, left, rate, keep, share, settings, firsts, seconds
            )
            at += VECTOR_BYTES


@inlined
def adam_row(
    w: int, m: int, v: int, g: int, count: int, rate: float, share: float,
    settings: Float32Array, first: float, second: float,
) -> None:  # fmt: skip
    """Adam on one row whose elements have all taken the same number of steps."""
    at = 0
    for left in range(count, 0, -LANES):
        _adam_cell(
            w + at, m + at, v + at, g + at, left, rate, ONE, share, settings, splat(first),
            splat(second),
        )  # fmt: skip
        at += VECTOR_BYTES
