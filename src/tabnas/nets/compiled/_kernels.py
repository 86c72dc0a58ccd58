"""The functions that Python calls: everything hot happens in here.

Python passes the arrays one by one. In named tuples, Numba's dispatcher would take 2.4 microseconds
longer, and a small step takes only some tens. Inside, named tuples cost nothing measurable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from tabnas.nets.compiled._fields import (
    SIZE_LOSS,
    SIZE_OUTPUTS,
    Batch,
    KernelSpec,
    Network,
    OptimizerArrays,
    WorkerSpace,
    Workspace,
)
from tabnas.nets.compiled._forward_backward import forward, partition_workspace, prepare_inputs
from tabnas.nets.compiled._gradients import (
    BAD_CLASS,
    BAD_ROWS,
    NO_WEIGHT,
    compute_gradient,
    logits_of,
    new_offsets,
    rows_exist,
    take_batch,
)
from tabnas.nets.compiled._jit import address, kernel
from tabnas.nets.compiled._losses import (
    add_up,
    are_finite,
    labels_exist,
    losses_and_grads,
    total_weight,
)
from tabnas.nets.compiled._strides import stride_of
from tabnas.nets.compiled._teams import (
    Team,
    agree,
    announce,
    arrive,
    chunks_are_offered,
    count_event,
    dismiss,
    finish_chunk,
    next_step,
    offer_chunks,
    poll,
    take_chunk,
    wait_for_chunks,
    wait_for_members,
)
from tabnas.nets.compiled._update import (
    count_steps,
    update_dense,
    update_embeddings,
    update_numeric_embeddings,
)
from tabnas.nets.compiled._vectors import real
from tabnas.types import Float32Array, FloatArray, Int32Array, IntArray

# the types of the kernels' arguments
_INTS, _INTS2, _INTS3 = types.int64[::1], types.int64[:, ::1], types.int64[:, :, ::1]
_IDS, _IDS2, _IDS3 = types.int32[::1], types.int32[:, ::1], types.int32[:, :, ::1]
_REALS, _REALS2, _REALS3 = (
    types.float32[::1], types.float32[:, ::1], types.float32[:, :, ::1],
)  # fmt: skip
_DOUBLES, _DOUBLES2 = types.float64[::1], types.float64[:, ::1]
_NETWORK = (_INTS, _INTS2, _INTS, _INTS, _INTS2, _INTS2, _INTS, _REALS2, _REALS2, _REALS2)
_OPTIMIZER = (_REALS, _REALS2, _INTS, _INTS, _IDS)
_CELLS = (_INTS, _INTS, types.int64)
_WORKSPACE = (_REALS2, _REALS2, _IDS3, _REALS3)
_EXAMPLES = (_REALS2, _IDS2, _IDS2, _REALS2, _REALS)

# Rows that an evaluation takes through the network at a time. The number is constant, since the
# order in which losses are added must not depend on earlier calls.
CHUNK_ROWS = 512


class Kernels(NamedTuple):
    """The compiled functions; few, because each compiles all it calls again."""

    train: Callable[..., int]
    evaluate: Callable[..., int]
    poll_calls: Callable[..., None]


def _build() -> Kernels:
    """Compile the kernels, or load what an earlier process has compiled."""

    @kernel(
        types.int64, *_NETWORK, *_OPTIMIZER, *_WORKSPACE, *_EXAMPLES, _INTS3, _INTS, _INTS3,
        _DOUBLES, _DOUBLES2, types.int64, *_CELLS,
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
        children: IntArray, rows: IntArray, spans: IntArray, learning_rates: FloatArray,
        losses: FloatArray, updates: int, calls: IntArray, cells: IntArray, helper: int,
    ) -> int:  # fmt: skip
        """Take steps of one or several children each, up to one with a loss that is not finite.

        children [steps, workers, units], losses [steps, workers]. spans [2, steps, workers]: where
        the rows of a batch begin, and how many there are. They are listed in `rows`; if it is
        empty, the beginning is the number of the first row, and the others follow it. Without
        updates, the steps are not taken, and only the gradients computed.

        With cells, several threads make the same call: the first with helper = 0, others with 1
        or more (see `_teams`). The first counts it in `calls` when it has released Python's lock.

        Return for how many steps there are losses. A step with a bad batch has none; if it is the
        first, return what is wrong with it.
        """
        spec = KernelSpec(sizes, layers, widths, heads, embeddings, knot_columns, dimensions, knots)
        network = Network(spec, parameters, tables)
        optimizer = OptimizerArrays(settings, corrections, steps, row_steps, slots)
        workspace = Workspace(buffer, gradients, ids, embedding_grad)
        examples = Batch(numeric, categorical, labels, values, weight, rows, 0, 0)
        workers = children.shape[1]
        offsets = new_offsets(spec)
        fans = np.empty((workers, 2), np.int64)
        column_corrections = np.empty((2, stride_of(widths.max())), np.float32)
        member, size, step = 0, 1, -1
        if cells.size > 0:
            if helper > 0:
                member = arrive(cells)
            else:
                count_event(calls)
        outcome = learning_rates.size
        while True:
            if member > 0:
                step, size = next_step(cells, member, step)
                if step < 0:
                    return 0
            else:
                step += 1
                if step == learning_rates.size:
                    break
                if cells.size > 0:
                    size = announce(cells, step)
            team = Team(address(cells), member, size)
            # all compute the gradient of a single child together, else one that of each child
            gradient_team = team if workers == 1 else Team(team.cells, 0, 1)
            problem = 0
            first, every = (0, 1) if workers == 1 else (member, size)
            for worker in range(first, workers, every):
                space = WorkerSpace(
                    buffer[worker], gradients[worker], ids[worker], embedding_grad[worker]
                )
                batch = take_batch(examples, spans[0, step, worker], spans[1, step, worker])
                found, loss = compute_gradient(
                    gradient_team, network, children[step, worker], space, batch, offsets
                )
                problem = min(problem, found)
                losses[step, worker] = loss  # all members have the same
            if workers > 1:
                problem = agree(team, problem)
            if problem < 0:
                outcome = step if step > 0 else problem
                break
            if not are_finite(losses[step]):
                outcome = step + 1
                break
            if updates > 0:
                lr = real(learning_rates[step])
                update_dense(
                    team, network, optimizer, gradients, children[step], lr, fans,
                    column_corrections,
                )  # fmt: skip
                if knot_columns.shape[0] > 0 and member == size - 1:
                    update_numeric_embeddings(network, optimizer, gradients, children[step], lr)
                if embeddings.shape[0] > 0:
                    update_embeddings(team, network, optimizer, workspace, spans[1, step], lr)
                wait_for_members(team)
                if member == 0:
                    count_steps(network, optimizer, children[step], fans)
        if member == 0 and cells.size > 0:
            dismiss(cells)
        return outcome

    @kernel(
        types.int64, *_NETWORK, _REALS, _IDS2, *_EXAMPLES, _INTS, _INTS, types.int64, types.int64,
        _REALS2, _DOUBLES, *_CELLS,
    )  # fmt: skip
    def evaluate(
        sizes: IntArray, layers: IntArray, widths: IntArray, heads: IntArray, embeddings: IntArray,
        knot_columns: IntArray, dimensions: IntArray, knots: Float32Array,
        parameters: Float32Array, tables: Float32Array, buffer: Float32Array, ids: Int32Array,
        numeric: Float32Array, categorical: Int32Array, labels: Int32Array, values: Float32Array,
        weight: Float32Array,
        child: IntArray, rows: IntArray, start: int, count: int, out: Float32Array,
        losses: FloatArray, calls: IntArray, cells: IntArray, helper: int,
    ) -> int:  # fmt: skip
        """Fill `out` with the logits of any number of rows, or `losses` if `out` is empty.

        The rows go through the network in chunks that fit the workspace. Each adds its part to the
        weighted mean loss, `losses` [chunks]. Return what is wrong with the rows, or 0.

        With cells, several threads make the same call, as for `train`, each with a buffer and ids
        of its own; each takes chunks that no other has taken.
        """
        spec = KernelSpec(sizes, layers, widths, heads, embeddings, knot_columns, dimensions, knots)
        network = Network(spec, parameters, tables)
        batch = Batch(numeric, categorical, labels, values, weight, rows, start, count)
        if not rows_exist(batch):
            return BAD_ROWS
        wants_logits, outputs = out.size > 0, sizes[SIZE_OUTPUTS]
        weight_sum = 1.0 if wants_logits else total_weight(batch)
        if not weight_sum > 0.0:
            return NO_WEIGHT
        chunks = (count + CHUNK_ROWS - 1) // CHUNK_ROWS
        if cells.size > 0:
            if helper == 0:
                count_event(calls)
                offer_chunks(cells)
            elif not chunks_are_offered(cells):
                return 0
        offsets = new_offsets(spec)
        # for a constant 0, Numba would compile all functions that take it a second time
        zero: Any = np.int64(0)
        problem, chunk = 0, -1
        while True:
            chunk = take_chunk(cells) if cells.size > 0 else chunk + 1
            if chunk >= chunks:
                break
            begin = chunk * CHUNK_ROWS
            first, end = zero, min(CHUNK_ROWS, count - begin)
            part = Batch(
                numeric, categorical, labels, values, weight, rows[begin : begin + end],
                start + begin, end,
            )  # fmt: skip
            partition_workspace(spec, child, end, offsets)
            x, x_stride, valid = prepare_inputs(
                network, child, part, first, end, offsets, buffer, ids
            )
            if not valid or not (wants_logits or labels_exist(part, first, end, outputs)):
                problem = BAD_CLASS
            else:
                forward(network, child, x, x_stride, first, end, offsets, buffer)
                z = logits_of(spec, offsets, buffer, end)
                if wants_logits:
                    for i in range(end):
                        for j in range(outputs):
                            out[begin + i, j] = z[i, j]
                else:
                    row_losses = buffer[:end]
                    losses_and_grads(
                        sizes[SIZE_LOSS], z, part, first, end, outputs, weight_sum, row_losses
                    )
                    losses[chunk] = add_up(row_losses)
            if cells.size > 0:
                finish_chunk(cells, problem)
        if cells.size > 0 and helper == 0:
            return wait_for_chunks(cells, chunks)
        return problem

    @kernel(types.void, _INTS, types.int64)
    def poll_calls(calls: IntArray, seen: int) -> None:
        """Wait for a call of a kernel with helpers, for a while."""
        poll(calls, seen)

    return Kernels(train, evaluate, poll_calls)


KERNELS = _build()
