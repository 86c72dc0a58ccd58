"""The update: average the workers' gradients and move the elements that any of them used."""

from __future__ import annotations

import numpy as np

from tabnas.nets.compiled._children import depth_of
from tabnas.nets.compiled._embeddings import sum_by_category
from tabnas.nets.compiled._fields import (
    EMBEDDING_DIMENSION,
    EMBEDDING_FIRST_ROW,
    EMBEDDING_INPUT,
    EMBEDDING_STRIDE,
    EMBEDDING_TABLE,
    LAYER_BIAS,
    LAYER_IN_COUNT,
    LAYER_IN_WIDTHS,
    LAYER_OUT_COUNT,
    LAYER_OUT_WIDTHS,
    LAYER_STEPS,
    LAYER_STRIDE,
    LAYER_WEIGHT,
    SIZE_KNOTS,
    SIZE_LAYERS,
    SIZE_NUMERIC,
    SIZE_OUTPUTS,
    SIZE_TABLE,
    SIZE_TABLE_STEPS,
    SIZE_TABLE_STRIDE,
    WEIGHT_DECAY,
    KernelSpec,
    Network,
    OptimizerArrays,
    Workspace,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._numeric_embeddings import dimension_of
from tabnas.nets.compiled._optimizers import adam, adam_row, momentum, sgd, update_marked
from tabnas.nets.compiled._teams import Team, share
from tabnas.nets.compiled._vectors import FLOAT_BYTES, LANES, ONE, ZERO, real
from tabnas.types import Float32Array, IntArray


@njit_helper
def _fill_fans(spec: KernelSpec, children: IntArray, index: int, fans: IntArray) -> bool:
    """Fill fans [workers, 2]: the rows and columns of a layer that each child uses, 0 if none.

    Return whether any child uses the layer.
    """
    layers = spec.sizes[SIZE_LAYERS]
    used = False
    for worker in range(children.shape[0]):
        child = children[worker]
        depth = depth_of(child)
        layer = index if index < layers else depth
        active = index < depth or spec.heads[depth] == index
        fans[worker, 0] = 0
        fans[worker, 1] = 0
        if active:
            fans[worker, 0] = child[layer]
            fans[worker, 1] = child[layer + 1] if index < layers else spec.sizes[SIZE_OUTPUTS]
            used = True
    return used


@njit_helper
def _reduce_gradients(
    gradients: Float32Array, start: int, stride: int, row: int, rows: int, columns: int,
    fans: IntArray,
) -> None:  # fmt: skip
    """Add the workers' gradients of some rows, in their order, in the first worker's buffer.

    The gradient of row `row` begins at `start`.
    """
    for i in range(row, row + rows):
        begin = start + (i - row) * stride
        first_columns = fans[0, 1] if i < fans[0, 0] else 0
        for j in range(begin + first_columns, begin + columns):
            gradients[0, j] = ZERO
        for worker in range(1, fans.shape[0]):
            if i < fans[worker, 0]:
                for j in range(begin, begin + fans[worker, 1]):
                    gradients[0, j] += gradients[worker, j]


@njit_inline
def _update_block(
    parameters: Float32Array, start: int, rows: int, stride: int, count: int, gradient: int,
    lr: float, decay: float, share: float, settings: Float32Array, corrections: Float32Array,
) -> None:  # fmt: skip
    """Update a block [rows, count] that begins at `start`, with its gradient at an address.

    The number of moments tells which optimizer it is.
    """
    w = address(parameters) + start * FLOAT_BYTES
    step = stride * FLOAT_BYTES
    if parameters.shape[0] == 1:
        sgd(w, gradient, rows, step, count, lr, decay, share)
        return
    m = w + parameters.strides[0]
    if parameters.shape[0] == 2:
        momentum(w, m, gradient, rows, step, count, lr, decay, share, settings)
        return
    v = m + parameters.strides[0]
    first = address(corrections)
    adam(
        w, m, v, gradient, rows, step, count, lr, decay, share, settings, first,
        first + corrections.strides[0],
    )  # fmt: skip


@njit_inline
def _used_columns(fans: IntArray, row: int) -> int:
    """Return how many columns of a row any child uses."""
    columns = 0
    for worker in range(fans.shape[0]):
        if fans[worker, 0] > row:
            columns = max(columns, fans[worker, 1])
    return columns


@njit_helper
def _look_up_corrections(
    spec: KernelSpec, index: int, in_bin: int, columns: int, optimizer: OptimizerArrays,
    corrections: Float32Array,
) -> None:  # fmt: skip
    """Fill in the corrections of the first `columns` columns of one bin of rows, for this step."""
    steps, table = optimizer.steps, optimizer.corrections
    layer = spec.layers[index]
    first = layer[LAYER_STEPS] + in_bin * layer[LAYER_OUT_COUNT]
    j = 0
    for out_bin in range(layer[LAYER_OUT_COUNT]):
        width = spec.widths[layer[LAYER_OUT_WIDTHS] + out_bin]
        if width > columns:
            return
        n = min(steps[first + out_bin] + 1, table.shape[1] - 1)
        for column in range(j, width):
            corrections[0, column] = table[0, n]
            corrections[1, column] = table[1, n]
        j = width


@njit_helper
def count_steps(
    network: Network, optimizer: OptimizerArrays, children: IntArray, fans: IntArray
) -> None:
    """Count the step of every block of the dense layers that a child uses, if that is needed."""
    spec = network.spec
    if network.parameters.shape[0] < 3:
        return
    for index in range(spec.layers.shape[0]):
        if not _fill_fans(spec, children, index, fans):
            continue
        layer = spec.layers[index]
        for in_bin in range(layer[LAYER_IN_COUNT]):
            columns = _used_columns(fans, spec.widths[layer[LAYER_IN_WIDTHS] + in_bin] - 1)
            first = layer[LAYER_STEPS] + in_bin * layer[LAYER_OUT_COUNT]
            for out_bin in range(layer[LAYER_OUT_COUNT]):
                if spec.widths[layer[LAYER_OUT_WIDTHS] + out_bin] <= columns:
                    optimizer.steps[first + out_bin] += 1


@njit_helper
def update_dense(
    team: Team, network: Network, optimizer: OptimizerArrays, gradients: Float32Array,
    children: IntArray, lr: float, fans: IntArray, corrections: Float32Array,
) -> None:  # fmt: skip
    """Update every dense layer. Its rows fall into bins: the same children use all rows of one.

    Members of a team update some rows each. The steps are not counted, since all read the counts.
    fans [workers, 2] and corrections [2, largest width] are memory to work in.
    """
    spec, parameters, settings = network.spec, network.parameters, optimizer.settings
    workers = children.shape[0]
    factor = ONE / real(workers)
    decay = ONE - lr * settings[WEIGHT_DECAY]
    base = address(gradients)
    for index in range(spec.layers.shape[0]):
        if not _fill_fans(spec, children, index, fans):
            continue
        layer = spec.layers[index]
        own_begin, own_end = share(team, fans[:, 0].max(), LANES)
        bin_end = 0
        for in_bin in range(layer[LAYER_IN_COUNT]):
            bin_begin, bin_end = bin_end, spec.widths[layer[LAYER_IN_WIDTHS] + in_bin]
            row, end = max(bin_begin, own_begin), min(bin_end, own_end)
            is_first = in_bin == 0 and team.member == 0
            columns = _used_columns(fans, bin_end - 1)
            if columns == 0:
                break
            if row >= end and not is_first:
                continue
            if parameters.shape[0] == 3:
                _look_up_corrections(spec, index, in_bin, columns, optimizer, corrections)
            vectors = (3 if index < spec.sizes[SIZE_LAYERS] else 1) if is_first else 0
            for vector in range(vectors):
                start = layer[LAYER_BIAS + vector]
                if workers > 1:
                    _reduce_gradients(gradients, start, 0, 0, 1, columns, fans)
                _update_block(
                    parameters, start, 1, columns, columns, base + start * FLOAT_BYTES, lr, ONE,
                    factor, settings, corrections,
                )  # fmt: skip
            start, stride = layer[LAYER_WEIGHT] + row * layer[LAYER_STRIDE], layer[LAYER_STRIDE]
            if workers > 1:
                _reduce_gradients(gradients, start, stride, row, end - row, columns, fans)
            _update_block(
                parameters, start, end - row, stride, columns, base + start * FLOAT_BYTES, lr,
                decay, factor, settings, corrections,
            )  # fmt: skip


@njit_helper
def _reduce_tables(
    spec: KernelSpec, gradients: Float32Array, children: IntArray, begin: int, end: int,
    marks: Float32Array,
) -> bool:  # fmt: skip
    """Add the workers' gradients of dimensions begin + 1 to end in the first worker's buffer.

    `marks` become the knots that any of them has read. Return whether any child has the dimensions.
    """
    stride = spec.sizes[SIZE_TABLE_STRIDE]
    start = spec.sizes[SIZE_TABLE]
    marked = start + spec.dimensions[-1] * stride
    first, last = start + begin * stride, start + end * stride
    used = False
    marks[:] = ZERO
    for worker in range(children.shape[0]):
        if dimension_of(spec, children[worker]) < end:
            if worker == 0:
                gradients[0, first:last] = ZERO
            continue
        used = True
        for knot in range(stride):
            marks[knot] = max(marks[knot], gradients[worker, marked + knot])
        if worker > 0:
            for at in range(first, last):
                gradients[0, at] += gradients[worker, at]
    return used


@njit_helper
def update_numeric_embeddings(
    network: Network, optimizer: OptimizerArrays, gradients: Float32Array, children: IntArray,
    lr: float,
) -> None:  # fmt: skip
    """Update the knots that a value has read, in the dimensions that children have.

    The dimensions fall into bins: the same children have all dimensions of one.
    """
    spec, parameters, table = network.spec, network.parameters, optimizer.corrections
    knots, stride = spec.sizes[SIZE_KNOTS], spec.sizes[SIZE_TABLE_STRIDE]
    marks = np.empty(stride, np.float32)
    corrections = np.ones((2, stride), np.float32)
    factor = ONE / real(children.shape[0])
    row = 0
    for bin_ in range(spec.dimensions.size):
        end = spec.dimensions[bin_]
        if not _reduce_tables(spec, gradients, children, row, end, marks):
            return
        if parameters.shape[0] == 3:
            first = spec.sizes[SIZE_TABLE_STEPS] + bin_ * knots
            for knot in range(knots):
                if marks[knot] > ZERO:
                    optimizer.steps[first + knot] += 1
                    n = min(optimizer.steps[first + knot], table.shape[1] - 1)
                    corrections[0, knot] = table[0, n]
                    corrections[1, knot] = table[1, n]
        for dimension in range(row, end):
            start = spec.sizes[SIZE_TABLE] + dimension * stride
            w = address(parameters) + start * FLOAT_BYTES
            update_marked(
                w, parameters.strides[0], parameters.shape[0] - 1,
                address(gradients) + start * FLOAT_BYTES, address(marks), stride, lr, factor,
                optimizer.settings, address(corrections), corrections.strides[0],
            )  # fmt: skip
        row = end


@njit_helper
def update_embeddings(
    team: Team, network: Network, optimizer: OptimizerArrays, workspace: Workspace,
    counts: IntArray, lr: float,
) -> None:  # fmt: skip
    """Update the rows of the embeddings that occur in the batches, and no others.

    Members of a team update some embeddings each.
    """
    spec, tables = network.spec, network.tables
    steps, settings, table = optimizer.row_steps, optimizer.settings, optimizer.corrections
    factor = ONE / real(counts.size)
    begin, end = share(team, spec.embeddings.shape[0], 1)
    touched = np.empty(counts.size * workspace.ids.shape[2], np.int32)
    sums = np.empty((touched.size, spec.embeddings[:, EMBEDDING_STRIDE].max()), np.float32)
    for c in range(begin, end):
        dimension = spec.embeddings[c, EMBEDDING_DIMENSION]
        first_row = spec.embeddings[c, EMBEDDING_FIRST_ROW]
        unit = spec.embeddings[c, EMBEDDING_INPUT] - spec.sizes[SIZE_NUMERIC]
        distinct = sum_by_category(
            first_row, unit, dimension, c, workspace.ids, counts, workspace.embedding_grad,
            optimizer.slots, touched, sums,
        )  # fmt: skip
        for t in range(distinct):
            row = first_row + touched[t]
            optimizer.slots[row] = -1
            stride = spec.embeddings[c, EMBEDDING_STRIDE]
            start = spec.embeddings[c, EMBEDDING_TABLE] + touched[t] * stride
            w = address(tables) + start * FLOAT_BYTES
            m = w + tables.strides[0]
            g = address(sums) + t * sums.strides[0]
            if tables.shape[0] == 3:
                steps[row] += 1
                n = min(steps[row], table.shape[1] - 1)
                v = m + tables.strides[0]
                adam_row(w, m, v, g, dimension, lr, factor, settings, table[0, n], table[1, n])
            elif tables.shape[0] == 2:
                momentum(w, m, g, 1, 1, dimension, lr, ONE, factor, settings)
            else:
                sgd(w, g, 1, 1, dimension, lr, ONE, factor)
