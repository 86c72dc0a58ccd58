"""The loss of a batch, and its gradient."""

from __future__ import annotations

from math import inf, isfinite

import numpy as np

from tabnas.nets._engine import MAX_GRADIENT_NORM
from tabnas.nets.compiled._fields import (
    SIZE_LAYERS,
    SIZE_LOSS,
    SIZE_NUMERIC,
    SIZE_OUTPUTS,
    Batch,
    KernelSpec,
    Network,
    WorkerSpace,
)
from tabnas.nets.compiled._forward_backward import (
    LOGITS,
    OFFSETS_OF_LAYER,
    OTHER_OFFSETS,
    POSITIONS,
    SQUARES,
    backward,
    forward,
    partition_workspace,
    prepare_inputs,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._losses import (
    add_up,
    labels_exist,
    losses_and_grads,
    total_weight,
)
from tabnas.nets.compiled._norms import blocks_of, squared_norm
from tabnas.nets.compiled._numeric_embeddings import dimension_of, sum_by_knot
from tabnas.nets.compiled._strides import stride_of
from tabnas.nets.compiled._teams import Team, agree, share, wait_for_members
from tabnas.nets.compiled._vectors import FLOAT_BYTES, LANES
from tabnas.types import Float32Array, IntArray

# what is wrong with a batch: a row, a category or a label does not exist, or no row has weight
BAD_ROWS, BAD_CLASS, NO_WEIGHT = -1, -2, -3


@njit_inline
def rows_exist(batch: Batch) -> bool:
    """Return whether there are rows in the batch, all of which exist."""
    low, high = batch.start, batch.start + batch.n_rows - 1
    if batch.rows.size > 0:
        low, high = batch.rows.min(), batch.rows.max()
    return low >= 0 and high < batch.numeric.shape[0] and batch.n_rows > 0


@njit_inline
def new_offsets(spec: KernelSpec) -> IntArray:
    """Return memory for the offsets of a step's arrays."""
    return np.empty(OFFSETS_OF_LAYER * spec.sizes[SIZE_LAYERS] + OTHER_OFFSETS, np.int64)


@njit_inline
def logits_of(
    spec: KernelSpec, offsets: IntArray, buffer: Float32Array, count: int
) -> Float32Array:
    """Return the logits [count, at least outputs] that `forward` has left in the buffer."""
    stride = stride_of(spec.sizes[SIZE_OUTPUTS])
    start = offsets[OFFSETS_OF_LAYER * spec.sizes[SIZE_LAYERS] + LOGITS]
    return buffer[start : start + count * stride].reshape(count, stride)


@njit_helper
def compute_gradient(
    team: Team, network: Network, child: IntArray, space: WorkerSpace, batch: Batch,
    offsets: IntArray,
) -> tuple[int, float]:  # fmt: skip
    """Return what is wrong with the batch, or 0, and the loss of a child; fill in the gradient.

    The loss is infinite if the gradient exploded. The backward pass is left out if it is not
    finite. All members of a team return the same.
    """
    spec = network.spec
    count, outputs = batch.n_rows, spec.sizes[SIZE_OUTPUTS]
    if not rows_exist(batch):
        return BAD_ROWS, 0.0
    weight_sum = total_weight(batch)
    if not weight_sum > 0.0:
        return NO_WEIGHT, 0.0
    partition_workspace(spec, child, count, offsets)
    losses = space.buffer[:count]
    first, end = share(team, count, LANES)
    x, x_stride, valid = prepare_inputs(
        network, child, batch, first, end, offsets, space.buffer, space.ids
    )
    problem, logits = BAD_CLASS, 0
    if valid and labels_exist(batch, first, end, outputs):
        problem = 0
        logits = forward(network, child, x, x_stride, first, end, offsets, space.buffer)
        losses_and_grads(
            spec.sizes[SIZE_LOSS], logits_of(spec, offsets, space.buffer, count), batch, first, end,
            outputs, weight_sum, losses,
        )  # fmt: skip
    problem = agree(team, problem)
    if problem < 0:
        return problem, 0.0
    loss = add_up(losses)
    if not isfinite(loss):
        return 0, loss
    backward(team, network, child, x, x_stride, logits, count, offsets, space)
    wait_for_members(team)
    layers = spec.sizes[SIZE_LAYERS]
    blocks = blocks_of(count) if child[0] > spec.sizes[SIZE_NUMERIC] else 0
    for layer in range(layers + 1):
        blocks += blocks_of(child[layer])
    start = address(space.buffer) + offsets[OFFSETS_OF_LAYER * layers + SQUARES] * FLOAT_BYTES
    if not squared_norm(spec, child, space.gradients, start, blocks) < MAX_GRADIENT_NORM**2:
        return 0, inf
    dimension = dimension_of(spec, child)
    if dimension > 0:
        positions = offsets[OFFSETS_OF_LAYER * layers + POSITIONS] * FLOAT_BYTES
        first, end = share(team, spec.knot_columns.shape[0], 1)
        sum_by_knot(spec, dimension, count, address(space.buffer) + positions, first, end, space)
        wait_for_members(team)
    return 0, loss


@njit_inline
def take_batch(examples: Batch, start: int, count: int) -> Batch:
    """Return a batch whose rows are listed in those of the examples, from `start` on.

    If none are listed, `start` is the first row itself.
    """
    return Batch(
        examples.numeric, examples.categorical, examples.labels, examples.values, examples.weight,
        examples.rows[start : start + count], start, count,
    )  # fmt: skip
