"""The functions that Python calls, one call per step: everything hot happens in here.

Python passes the arrays one by one. In named tuples, Numba's dispatcher would take 2.4 microseconds
longer, and a small step takes only some tens. Inside, named tuples cost nothing measurable.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from numba import types

from tabnas.nets._engine import MAX_GRADIENT_NORM
from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._event_counters import count_event, poll
from tabnas.nets.compiled._fields import (
    SIZE_LAYERS,
    SIZE_LOSS,
    SIZE_OUTPUTS,
    Batch,
    Network,
    NetworkSpec,
    OptimizerArrays,
    WorkerSpace,
    Workspace,
)
from tabnas.nets.compiled._forward_backward import (
    LOGITS,
    OFFSETS_OF_LAYER,
    OTHER_OFFSETS,
    backward,
    forward,
    partition_workspace,
    prepare_inputs,
)
from tabnas.nets.compiled._jit import kernel, njit_helper, njit_inline
from tabnas.nets.compiled._losses import loss_and_grad, total_weight
from tabnas.nets.compiled._norms import squared_norm
from tabnas.nets.compiled._strides import stride_of
from tabnas.nets.compiled._update import (
    update_dense,
    update_embeddings,
    update_numeric_embeddings,
)
from tabnas.nets.compiled._vectors import real
from tabnas.types import IntArray

# the types of the kernels' arguments
_INTS, _INTS2 = types.int64[::1], types.int64[:, ::1]
_IDS, _IDS2, _IDS3 = types.int32[::1], types.int32[:, ::1], types.int32[:, :, ::1]
_REALS, _REALS2, _REALS3 = (
    types.float32[::1], types.float32[:, ::1], types.float32[:, :, ::1],
)  # fmt: skip
_NETWORK = (_INTS, _INTS2, _INTS, _INTS, _INTS2, _INTS2, _INTS, _REALS2, _REALS2, _REALS2)
_OPTIMIZER = (_REALS, _REALS2, _INTS, _INTS, _IDS)
_WORKSPACE = (_REALS2, _REALS2, _IDS3, _REALS3)
_EXAMPLES = (_REALS2, _IDS2, _IDS2, _REALS2, _REALS)
_ROWS = (_INTS, types.int64, types.int64)

# Rows that an evaluation takes through the network at a time. The number is constant, since the
# order in which losses are added must not depend on earlier calls.
CHUNK_ROWS = 512


@njit_inline
def _check_rows(batch: Batch) -> None:
    low, high = batch.start, batch.start + batch.n_rows - 1
    if batch.rows.size > 0:
        low, high = batch.rows.min(), batch.rows.max()
    if low < 0 or high >= batch.numeric.shape[0] or batch.n_rows < 1:
        raise IndexError("rows out of range")


@njit_inline
def _new_offsets(spec: NetworkSpec) -> IntArray:
    return np.empty(OFFSETS_OF_LAYER * spec.sizes[SIZE_LAYERS] + OTHER_OFFSETS, np.int64)


@njit_inline
def _logits(spec: NetworkSpec, offsets: IntArray, buffer: Float32Array, count: int) -> Float32Array:
    """Return the logits [count, at least outputs] that `forward` has left in the buffer."""
    stride = stride_of(spec.sizes[SIZE_OUTPUTS])
    start = offsets[OFFSETS_OF_LAYER * spec.sizes[SIZE_LAYERS] + LOGITS]
    return buffer[start : start + count * stride].reshape(count, stride)


@njit_helper
def _compute_gradient(network: Network, child: IntArray, space: WorkerSpace, batch: Batch) -> float:
    """Return the loss of a child, infinite if its gradient exploded, and fill in the gradient.

    The backward pass is left out if the loss is not finite.
    """
    spec = network.spec
    _check_rows(batch)
    weight_sum = total_weight(batch)
    if not weight_sum > 0.0:
        raise ZeroDivisionError("weights sum to 0")
    offsets = _new_offsets(spec)
    partition_workspace(spec, child, batch.n_rows, offsets)
    x, x_stride = prepare_inputs(network, child, batch, offsets, space.buffer, space.ids)
    logits = forward(network, child, x, x_stride, batch.n_rows, offsets, space.buffer)
    loss = loss_and_grad(
        spec.sizes[SIZE_LOSS], _logits(spec, offsets, space.buffer, batch.n_rows), batch,
        spec.sizes[SIZE_OUTPUTS], weight_sum,
    )  # fmt: skip
    if isfinite(loss):
        backward(network, child, x, x_stride, logits, batch.n_rows, offsets, space)
        if not squared_norm(spec, child, space, batch.n_rows) < MAX_GRADIENT_NORM**2:
            return inf
    return loss


class Kernels(NamedTuple):
    """The compiled functions; few, because each compiles all it calls again."""

    train: Callable[..., float]
    evaluate: Callable[..., float]
    count_and_poll: Callable[..., None]


def _build() -> Kernels:
    """Compile the kernels, or load what an earlier process has compiled."""

    @kernel(
        types.float64, *_NETWORK, *_OPTIMIZER, *_WORKSPACE, *_EXAMPLES, _INTS2, types.int64, _INTS,
        _INTS, *_ROWS, types.float64,
    )  # fmt: skip
    def train(
        sizes: IntArray, layers: IntArray, widths: IntArray, heads: IntArray, embeddings: IntArray,
        knot_columns: IntArray, dimensions: IntArray, knots: Float32Array,
        parameters: Float32Array, tables: Float32Array,
        settings: Float32Array, corrections: Float32Array, steps: IntArray, row_steps: IntArray,
        slots: Int32Array,
        buffer: Float32Array, gradients: Float32Array, ids: Int32Array,
        embedding_grad: Float32Array,
        numeric: Float32Array, categorical: Int32Array, labels: Int32Array, values: Float32Array,
        weight: Float32Array,
        children: IntArray, worker: int, counts: IntArray, event_counters: IntArray,
        rows: IntArray, start: int, count: int, learning_rate: float,
    ) -> float:  # fmt: skip
        """Take one step of the only child, or do a worker's part of one step of several children.

        With worker >= 0: forward and backward pass of that worker's child; its gradient goes to its
        own buffer, the loss is returned. With counts (rows per worker): the update by the average
        gradient; after a loss that is not finite, which also stands for an exploded gradient,
        nothing moves. With event counters, worker 0 counts that it has released Python's lock.
        """
        if event_counters.size > 0 and worker == 0:
            count_event(event_counters, 0)
        spec = NetworkSpec(
            sizes, layers, widths, heads, embeddings, knot_columns, dimensions, knots
        )
        network = Network(spec, parameters, tables)
        loss = 0.0
        if worker >= 0:
            space = WorkerSpace(
                buffer[worker], gradients[worker], ids[worker], embedding_grad[worker]
            )
            batch = Batch(numeric, categorical, labels, values, weight, rows, start, count)
            loss = _compute_gradient(network, children[worker], space, batch)
        if counts.size > 0 and isfinite(loss):
            optimizer = OptimizerArrays(settings, corrections, steps, row_steps, slots)
            lr = real(learning_rate)
            update_dense(network, optimizer, gradients, children, lr)
            if knot_columns.shape[0] > 0:
                update_numeric_embeddings(network, optimizer, gradients, children, lr)
            if embeddings.shape[0] > 0:
                workspace = Workspace(buffer, gradients, ids, embedding_grad)
                update_embeddings(network, optimizer, workspace, counts, lr)
        return loss

    @kernel(types.float64, *_NETWORK, _REALS2, _IDS3, *_EXAMPLES, _INTS, *_ROWS, _REALS2)
    def evaluate(
        sizes: IntArray, layers: IntArray, widths: IntArray, heads: IntArray, embeddings: IntArray,
        knot_columns: IntArray, dimensions: IntArray, knots: Float32Array,
        parameters: Float32Array, tables: Float32Array, buffer: Float32Array, ids: Int32Array,
        numeric: Float32Array, categorical: Int32Array, labels: Int32Array, values: Float32Array,
        weight: Float32Array,
        child: IntArray, rows: IntArray, start: int, count: int, out: Float32Array,
    ) -> float:  # fmt: skip
        """Return the weighted mean loss of any number of rows, or fill `out` with their logits.

        An empty `out` asks for the loss. The rows go through the network in chunks that fit the
        workspace.
        """
        spec = NetworkSpec(
            sizes, layers, widths, heads, embeddings, knot_columns, dimensions, knots
        )
        network = Network(spec, parameters, tables)
        batch = Batch(numeric, categorical, labels, values, weight, rows, start, count)
        _check_rows(batch)
        wants_logits = out.size > 0
        weight_sum = 1.0 if wants_logits else total_weight(batch)
        if not weight_sum > 0.0:
            raise ZeroDivisionError("weights sum to 0")
        offsets = _new_offsets(spec)
        loss = 0.0
        for begin in range(0, count, CHUNK_ROWS):
            size = min(CHUNK_ROWS, count - begin)
            chunk = Batch(
                numeric, categorical, labels, values, weight, rows[begin : begin + size],
                start + begin, size,
            )  # fmt: skip
            partition_workspace(spec, child, size, offsets)
            x, x_stride = prepare_inputs(network, child, chunk, offsets, buffer[0], ids[0])
            forward(network, child, x, x_stride, size, offsets, buffer[0])
            z = _logits(spec, offsets, buffer[0], size)
            if wants_logits:
                for i in range(size):
                    for j in range(out.shape[1]):
                        out[begin + i, j] = z[i, j]
            else:
                loss += loss_and_grad(sizes[SIZE_LOSS], z, chunk, sizes[SIZE_OUTPUTS], weight_sum)
        return loss

    @kernel(types.void, _INTS, types.int64, types.int64, types.int64)
    def count_and_poll(event_counters: IntArray, index: int, other: int, seen: int) -> None:
        """Count an event (unless index is -1), then wait for one of another thread."""
        if index >= 0:
            count_event(event_counters, index)
        poll(event_counters, other, seen)

    return Kernels(train, evaluate, count_and_poll)


KERNELS = _build()
