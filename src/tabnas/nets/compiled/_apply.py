"""The update: average the workers' gradients and move the elements that any of them used."""

from __future__ import annotations

import numpy as np

from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._embeddings import DIMENSION, FIRST_ROW, INPUT, TABLE, merge_repeated
from tabnas.nets.compiled._embeddings import STRIDE as TABLE_STRIDE
from tabnas.nets.compiled._jit import address, inlined, inner
from tabnas.nets.compiled._layout import Field, Plan
from tabnas.nets.compiled._step import (
    BIAS,
    INPUTS,
    LAYERS,
    NUMERIC,
    OUTPUTS,
    STRIDE,
    WEIGHT,
    depth_of,
)
from tabnas.nets.compiled._updates import DECAY, adam, adam_row, momentum, sgd
from tabnas.nets.compiled._vectors import FLOAT_BYTES, ONE, ZERO, real
from tabnas.types import IntArray

IN_EDGES, IN_COUNT, OUT_EDGES, OUT_COUNT, STEPS = (
    int(Field.IN_EDGES), int(Field.IN_COUNT), int(Field.OUT_EDGES), int(Field.OUT_COUNT),
    int(Field.STEPS),
)  # fmt: skip


@inner
def _blocks(plan: Plan, children: IntArray, index: int, fans: IntArray) -> bool:
    """fans [workers, 2]: rows and columns of a matrix that each child uses, 0 if none."""
    layers = plan.sizes[LAYERS]
    used = False
    for worker in range(children.shape[0]):
        child = children[worker]
        depth = depth_of(child)
        layer = index if index < layers else depth
        active = index < depth or plan.heads[depth] == index
        fans[worker, 0] = 0
        fans[worker, 1] = 0
        if active:
            fans[worker, 0] = child[layer - 1] if layer > 0 else plan.sizes[INPUTS]
            fans[worker, 1] = child[layer] if index < layers else plan.sizes[OUTPUTS]
            used = True
    return used


@inner
def _merge(
    gradients: Float32Array, start: int, stride: int, row: int, rows: int, limit: int,
    fans: IntArray,
) -> None:  # fmt: skip
    """Add up the workers' gradients of some rows, in their order, in the first worker's buffer.

    `start` is where the gradient of row `row` begins.
    """
    for i in range(row, row + rows):
        begin = start + (i - row) * stride
        own = fans[0, 1] if i < fans[0, 0] else 0
        for j in range(begin + own, begin + limit):
            gradients[0, j] = ZERO
        for worker in range(1, fans.shape[0]):
            if i < fans[worker, 0]:
                for j in range(begin, begin + fans[worker, 1]):
                    gradients[0, j] += gradients[worker, j]


@inlined
def _move(
    parameters: Float32Array, start: int, rows: int, stride: int, count: int, gradient: int,
    rate: float, keep: float, share: float, settings: Float32Array, corrections: Float32Array,
) -> None:  # fmt: skip
    """Move a block [rows, count] that begins at `start`; the number of moments tells the optimiser.

    `gradient` is the address of its gradient.
    """
    w = address(parameters) + start * FLOAT_BYTES
    step = stride * FLOAT_BYTES
    if parameters.shape[0] == 1:
        sgd(w, gradient, rows, step, count, rate, keep, share)
        return
    m = w + parameters.strides[0]
    if parameters.shape[0] == 2:
        momentum(w, m, gradient, rows, step, count, rate, keep, share, settings)
        return
    v = m + parameters.strides[0]
    first = address(corrections)
    adam(
        w, m, v, gradient, rows, step, count, rate, keep, share, settings, first,
        first + corrections.strides[0],
    )  # fmt: skip


@inner
def _count_steps(
    plan: Plan, index: int, bin_: int, limit: int, steps: IntArray, table: Float32Array,
    corrections: Float32Array,
) -> None:  # fmt: skip
    """Count the step for the columns below `limit` of one bin of rows; fetch their corrections."""
    matrix = plan.matrices[index]
    first = matrix[STEPS] + bin_ * matrix[OUT_COUNT]
    j = 0
    for out_bin in range(matrix[OUT_COUNT]):
        edge = plan.edges[matrix[OUT_EDGES] + out_bin]
        if edge > limit:
            return
        steps[first + out_bin] += 1
        n = min(steps[first + out_bin], table.shape[1] - 1)
        for column in range(j, edge):
            corrections[0, column] = table[0, n]
            corrections[1, column] = table[1, n]
        j = edge


@inner
def update_dense(
    plan: Plan, children: IntArray, parameters: Float32Array, gradients: Float32Array,
    steps: IntArray, settings: Float32Array, table: Float32Array, fans: IntArray,
    corrections: Float32Array, rate: float,
) -> None:  # fmt: skip
    """Move every dense layer. The rows of a matrix fall into bins that the same children use."""
    workers = children.shape[0]
    share = ONE / real(workers)
    keep = ONE - rate * settings[DECAY]
    base = address(gradients)
    for index in range(plan.matrices.shape[0]):
        if not _blocks(plan, children, index, fans):
            continue
        matrix = plan.matrices[index]
        row = 0
        for bin_ in range(matrix[IN_COUNT]):
            edge = plan.edges[matrix[IN_EDGES] + bin_]
            limit = 0
            for worker in range(workers):
                if fans[worker, 0] >= edge:
                    limit = max(limit, fans[worker, 1])
            if limit == 0:
                break
            if parameters.shape[0] == 3:
                _count_steps(plan, index, bin_, limit, steps, table, corrections)
            vectors = (3 if index < plan.sizes[LAYERS] else 1) if bin_ == 0 else 0
            for vector in range(vectors):
                start = matrix[BIAS + vector]
                if workers > 1:
                    _merge(gradients, start, 0, 0, 1, limit, fans)
                _move(
                    parameters, start, 1, limit, limit, base + start * FLOAT_BYTES, rate, ONE,
                    share, settings, corrections,
                )  # fmt: skip
            start, stride = matrix[WEIGHT] + row * matrix[STRIDE], matrix[STRIDE]
            if workers > 1:
                _merge(gradients, start, stride, row, edge - row, limit, fans)
            _move(
                parameters, start, edge - row, stride, limit, base + start * FLOAT_BYTES, rate,
                keep, share, settings, corrections,
            )  # fmt: skip
            row = edge


@inner
def update_embeddings(
    plan: Plan, tables: Float32Array, ids: Int32Array, counts: IntArray, slopes: Float32Array,
    steps: IntArray, slots: Int32Array, settings: Float32Array, table: Float32Array, rate: float,
) -> None:  # fmt: skip
    """Move the rows of the embeddings that occur in the batches, and no others."""
    share = ONE / real(counts.size)
    touched = np.empty(counts.size * ids.shape[2], np.int32)
    sums = np.empty((touched.size, plan.columns[:, TABLE_STRIDE].max()), np.float32)
    for c in range(plan.columns.shape[0]):
        dimension, first_row = plan.columns[c, DIMENSION], plan.columns[c, FIRST_ROW]
        unit = plan.columns[c, INPUT] - plan.sizes[NUMERIC]
        found = merge_repeated(
            first_row, unit, dimension, c, ids, counts, slopes, slots, touched, sums
        )
        for t in range(found):
            row = first_row + touched[t]
            slots[row] = -1
            start = plan.columns[c, TABLE] + touched[t] * plan.columns[c, TABLE_STRIDE]
            w = address(tables) + start * FLOAT_BYTES
            m = w + tables.strides[0]
            g = address(sums) + t * sums.strides[0]
            if tables.shape[0] == 3:
                steps[row] += 1
                n = min(steps[row], table.shape[1] - 1)
                v = m + tables.strides[0]
                adam_row(w, m, v, g, dimension, rate, share, settings, table[0, n], table[1, n])
            elif tables.shape[0] == 2:
                momentum(w, m, g, 1, 1, dimension, rate, ONE, share, settings)
            else:
                sgd(w, g, 1, 1, dimension, rate, ONE, share)
