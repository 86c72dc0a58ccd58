"""The functions that Python calls, one call per step: everything hot happens in here."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from numba import types

from tabnas.nets._engine import LARGEST_NORM
from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._apply import update_dense, update_embeddings
from tabnas.nets.compiled._bounds import squared_norm
from tabnas.nets.compiled._jit import inner, kernel
from tabnas.nets.compiled._layout import Plan, Size
from tabnas.nets.compiled._losses import loss_and_slopes, total_weight
from tabnas.nets.compiled._signals import signal, watch
from tabnas.nets.compiled._step import backward, carve, forward, inputs_of
from tabnas.nets.compiled._strides import stride_of
from tabnas.nets.compiled._vectors import real
from tabnas.types import IntArray

# the types of the kernels' arguments
_INTS, _INTS2 = types.int64[::1], types.int64[:, ::1]
_IDS, _IDS2, _IDS3 = types.int32[::1], types.int32[:, ::1], types.int32[:, :, ::1]
_REALS, _REALS2, _REALS3 = (
    types.float32[::1], types.float32[:, ::1], types.float32[:, :, ::1],
)  # fmt: skip
_NETWORK = (_INTS, _INTS2, _INTS, _INTS, _INTS2, _REALS2, _REALS2)
_OPTIMIZER = (_REALS, _REALS2, _INTS, _INTS, _IDS)
_BATCH = (_REALS2, _REALS2, _IDS3, _REALS3)
_EXAMPLES = (_REALS2, _IDS2, _IDS, _REALS2, _REALS)
_ROWS = (_INTS, types.int64, types.int64)

# Rows that an evaluation takes through the network at a time: always as many, since the order in
# which losses are added must not depend on what was called before.
PIECE = 512

LAYERS, OUTPUTS, LOSS = int(Size.LAYERS), int(Size.OUTPUTS), int(Size.LOSS)


@inner
def _check_rows(rows: IntArray, start: int, count: int, available: int) -> None:
    low, high = start, start + count - 1
    if rows.size > 0:
        low, high = rows.min(), rows.max()
    if low < 0 or high >= available or count < 1:
        raise IndexError("rows out of range")


@inner
def _logits(plan: Plan, places: IntArray, space: Float32Array, count: int) -> Float32Array:
    """The logits [count, at least outputs] that `forward` has left in the workspace."""
    place, stride = places[3 * plan.sizes[LAYERS] + 1], stride_of(plan.sizes[OUTPUTS])
    return space[place : place + count * stride].reshape(count, stride)


@inner
def _gradient(
    plan: Plan, parameters: Float32Array, tables: Float32Array, child: IntArray,
    space: Float32Array, gradients: Float32Array, ids: Int32Array, embedding_slopes: Float32Array,
    numeric: Float32Array, categorical: Int32Array, labels: Int32Array, values: Float32Array,
    weight: Float32Array, rows: IntArray, start: int, count: int,
) -> float:  # fmt: skip
    """Forward and, if the loss is finite, backward; returns the loss, inf if its slope exploded."""
    _check_rows(rows, start, count, numeric.shape[0])
    whole = total_weight(weight, rows, start, count)
    if not whole > 0.0:
        raise ZeroDivisionError("weights sum to 0")
    places = np.empty(3 * plan.sizes[LAYERS] + 5, np.int64)
    carve(plan, child, count, places)
    x, x_stride = inputs_of(
        plan, tables[0], numeric, categorical, rows, start, count, places, space, ids
    )
    logits = forward(plan, parameters[0], child, x, x_stride, count, places, space)
    loss = loss_and_slopes(
        plan.sizes[LOSS], _logits(plan, places, space, count), labels, values, weight, rows,
        start, count, plan.sizes[OUTPUTS], whole,
    )  # fmt: skip
    if isfinite(loss):
        backward(
            plan, parameters[0], child, x, x_stride, logits, count, places, space, gradients,
            embedding_slopes,
        )  # fmt: skip
        if not squared_norm(plan, child, gradients, embedding_slopes, count) < LARGEST_NORM**2:
            return inf
    return loss


@inner
def _update(
    plan: Plan, settings: Float32Array, table: Float32Array, parameters: Float32Array,
    tables: Float32Array, steps: IntArray, row_steps: IntArray, slots: Int32Array,
    children: IntArray, gradients: Float32Array, ids: Int32Array, embedding_slopes: Float32Array,
    counts: IntArray, rate: float,
) -> None:  # fmt: skip
    fans = np.empty((children.shape[0], 2), np.int64)
    corrections = np.empty((2, stride_of(plan.edges.max())), np.float32)
    update_dense(
        plan, children, parameters, gradients, steps, settings, table, fans, corrections, rate
    )
    if plan.columns.shape[0] > 0:
        update_embeddings(
            plan, tables, ids, counts, embedding_slopes, row_steps, slots, settings, table, rate
        )  # fmt: skip


class Kernels(NamedTuple):
    """The compiled functions; few, because each compiles all it calls anew."""

    train: Callable[..., float]
    evaluate: Callable[..., float]
    signal_and_watch: Callable[..., None]


def _build() -> Kernels:
    """Compile the kernels, or load what an earlier process has compiled."""

    @kernel(
        types.float64, *_NETWORK, *_OPTIMIZER, *_BATCH, *_EXAMPLES, _INTS2, types.int64, _INTS,
        _INTS, *_ROWS, types.float64,
    )  # fmt: skip
    def train(
        sizes: IntArray, matrices: IntArray, edges: IntArray, heads: IntArray, columns: IntArray,
        parameters: Float32Array, tables: Float32Array,
        settings: Float32Array, table: Float32Array, steps: IntArray, row_steps: IntArray,
        slots: Int32Array, space: Float32Array, gradients: Float32Array, ids: Int32Array,
        embedding_slopes: Float32Array, numeric: Float32Array, categorical: Int32Array,
        labels: Int32Array, values: Float32Array, weight: Float32Array, children: IntArray,
        worker: int, counts: IntArray, board: IntArray, rows: IntArray, start: int, count: int,
        rate: float,
    ) -> float:  # fmt: skip
        """One step of the only child, or a worker's part of one step of several children.

        With worker >= 0: forward and backward of that worker's child; its gradient goes to its
        own place, the loss is returned. With counts (rows per worker): the update by the average
        gradient; after a loss that is not finite, which stands for an exploded gradient, too,
        nothing moves. With a board, worker 0 tells the others on it that they can have Python's
        lock.
        """
        if board.size > 0 and worker == 0:
            signal(board, 0)
        plan = Plan(sizes, matrices, edges, heads, columns)
        loss = 0.0
        if worker >= 0:
            loss = _gradient(
                plan, parameters, tables, children[worker], space[worker], gradients[worker],
                ids[worker], embedding_slopes[worker], numeric, categorical, labels, values,
                weight, rows, start, count,
            )  # fmt: skip
        if counts.size > 0 and isfinite(loss):
            _update(
                plan, settings, table, parameters, tables, steps, row_steps, slots, children,
                gradients, ids, embedding_slopes, counts, real(rate),
            )  # fmt: skip
        return loss

    @kernel(types.float64, *_NETWORK, _REALS2, _IDS3, *_EXAMPLES, _INTS, *_ROWS, _REALS2)
    def evaluate(
        sizes: IntArray, matrices: IntArray, edges: IntArray, heads: IntArray, columns: IntArray,
        parameters: Float32Array, tables: Float32Array, space: Float32Array, ids: Int32Array,
        numeric: Float32Array, categorical: Int32Array, labels: Int32Array, values: Float32Array,
        weight: Float32Array, child: IntArray, rows: IntArray, start: int, count: int,
        out: Float32Array,
    ) -> float:  # fmt: skip
        """The weighted mean loss of any number of rows or, if there is room in `out`, the logits.

        The rows go through the network in pieces that fit the workspace.
        """
        plan = Plan(sizes, matrices, edges, heads, columns)
        _check_rows(rows, start, count, numeric.shape[0])
        wants_logits = out.size > 0
        whole = 1.0 if wants_logits else total_weight(weight, rows, start, count)
        if not whole > 0.0:
            raise ZeroDivisionError("weights sum to 0")
        places = np.empty(3 * sizes[LAYERS] + 5, np.int64)
        total = 0.0
        for begin in range(0, count, PIECE):
            piece = min(PIECE, count - begin)
            part = rows[begin : begin + piece]
            carve(plan, child, piece, places)
            x, x_stride = inputs_of(
                plan, tables[0], numeric, categorical, part, start + begin, piece, places,
                space[0], ids[0],
            )  # fmt: skip
            forward(plan, parameters[0], child, x, x_stride, piece, places, space[0])
            z = _logits(plan, places, space[0], piece)
            if wants_logits:
                for i in range(piece):
                    for j in range(out.shape[1]):
                        out[begin + i, j] = z[i, j]
            else:
                total += loss_and_slopes(
                    sizes[LOSS], z, labels, values, weight, part, start + begin, piece,
                    sizes[OUTPUTS], whole,
                )  # fmt: skip
        return total

    @kernel(types.void, _INTS, types.int64, types.int64, types.int64)
    def signal_and_watch(board: IntArray, own: int, other: int, seen: int) -> None:
        """Report an event of one's own (unless -1), then wait for one of another thread's."""
        if own >= 0:
            signal(board, own)
        watch(board, other, seen)

    return Kernels(train, evaluate, signal_and_watch)


KERNELS = _build()
