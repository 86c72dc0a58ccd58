"""One batch through one child: forward and backward pass, on the child's blocks only.

Several threads can do it together: each computes some rows of the batch in the forward pass and of
the gradients with respect to activations, and some rows of the gradients of weights. Every sum is
computed by one thread, in an order that does not depend on their number.
"""

from __future__ import annotations

from typing import Any

from tabnas.nets.compiled._children import depth_of
from tabnas.nets.compiled._embeddings import gather
from tabnas.nets.compiled._fields import (
    LAYER_BIAS,
    LAYER_SCALE,
    LAYER_SHIFT,
    LAYER_STRIDE,
    LAYER_WEIGHT,
    SIZE_LAYERS,
    SIZE_NUMERIC,
    SIZE_OUTPUTS,
    Batch,
    KernelSpec,
    Network,
    WorkerSpace,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._layer_norm import (
    add_bias,
    clear,
    normalise,
    normalise_backward,
    sum_norm_gradients,
    sum_rows,
)
from tabnas.nets.compiled._norms import blocks_of, sum_squares_by_block
from tabnas.nets.compiled._numeric_embeddings import dimension_of, embed_numbers
from tabnas.nets.compiled._products import multiply, multiply_transposed, transpose
from tabnas.nets.compiled._strides import positions_size, stride_of
from tabnas.nets.compiled._teams import Team, share, wait_for_members
from tabnas.nets.compiled._vectors import FLOAT_BYTES, LANES
from tabnas.types import Float32Array, Int32Array, IntArray

# The offsets of a step's arrays in the buffer. Each layer has three: normalised values, outputs
# (in the backward pass: gradients before LayerNorm), inverse deviations. After those of all layers:
INPUTS, LOGITS, GRADS, POSITIONS, TRANSPOSED, SQUARES = 0, 1, 2, 3, 4, 5
OFFSETS_OF_LAYER, OTHER_OFFSETS = 3, 6

NORM_ROWS = 32  # whose gradients stay in the cache


@njit_inline
def input_stride(child: IntArray) -> int:
    """Return the stride of the inputs: a row, and a vector beyond (see `gather`)."""
    return stride_of(child[0] + LANES)


@njit_inline
def partition_workspace(spec: KernelSpec, child: IntArray, count: int, offsets: IntArray) -> None:
    """Divide the buffer among the arrays of a step: fill the offsets that are listed above.

    The losses of the rows come first.
    """
    layers = spec.sizes[SIZE_LAYERS]
    outputs = spec.sizes[SIZE_OUTPUTS]
    used = count
    widest = 0
    for layer in range(layers):
        stride = stride_of(child[layer + 1])
        widest = max(widest, stride)
        offsets[3 * layer] = used
        offsets[3 * layer + 1] = used + count * stride
        offsets[3 * layer + 2] = used + 2 * count * stride
        used += count * (2 * stride + 1)
    for entry, stride in enumerate((input_stride(child), stride_of(outputs), widest)):
        offsets[3 * layers + entry] = used
        used += count * stride
    offsets[3 * layers + POSITIONS] = used
    used += positions_size(spec.knot_columns.shape[0], count)
    offsets[3 * layers + SQUARES] = used
    for layer in range(layers + 1):
        used += blocks_of(child[layer])
    offsets[3 * layers + TRANSPOSED] = used + blocks_of(count)


@njit_inline
def prepare_inputs(
    network: Network, child: IntArray, batch: Batch, first: int, end: int, offsets: IntArray,
    buffer: Float32Array, ids: Int32Array,
) -> tuple[int, int, bool]:  # fmt: skip
    """Return address and row stride of the batch's inputs [count, inputs], and if they are valid.

    Rows without embeddings that lie side by side in the table are used in place; others are
    gathered in the buffer, from row `first` of the batch to row `end`. They are not valid if a
    category does not exist.
    """
    spec, columns = network.spec, batch.numeric.shape[1]
    if child[0] == columns and batch.rows.size == 0:
        return address(batch.numeric) + batch.start * columns * FLOAT_BYTES, columns, True
    stride = input_stride(child)
    layers = spec.sizes[SIZE_LAYERS]
    x = address(buffer) + offsets[3 * layers + INPUTS] * FLOAT_BYTES
    valid = gather(spec.embeddings, network.tables[0], batch, first, end, x, stride, ids)
    dimension = dimension_of(spec, child)
    if valid and dimension > 0:
        positions = address(buffer) + offsets[3 * layers + POSITIONS] * FLOAT_BYTES
        embed_numbers(spec, network.parameters, first, end, dimension, x, stride, positions)
    return x, stride, valid


@njit_helper
def forward(
    network: Network, child: IntArray, x: int, x_stride: int, first: int, end: int,
    offsets: IntArray, buffer: Float32Array,
) -> Any:  # fmt: skip
    """Compute rows `first` to `end` of the logits; return the address of all [count, outputs].

    What the backward pass needs stays in the buffer.
    """
    spec = network.spec
    w, s = address(network.parameters), address(buffer)
    depth = depth_of(child)
    rows = end - first
    before, before_stride, fan_in = x + first * x_stride * FLOAT_BYTES, x_stride, child[0]
    for layer in range(depth):
        width = child[layer + 1]
        stride = stride_of(width)
        begin = first * stride
        z = s + (offsets[3 * layer] + begin) * FLOAT_BYTES
        out = s + (offsets[3 * layer + 1] + begin) * FLOAT_BYTES
        weight = w + spec.layers[layer, LAYER_WEIGHT] * FLOAT_BYTES
        weight_stride = spec.layers[layer, LAYER_STRIDE]
        multiply(before, before_stride, weight, weight_stride, z, stride, rows, width, fan_in)
        normalise(
            z, w + spec.layers[layer, LAYER_BIAS] * FLOAT_BYTES,
            w + spec.layers[layer, LAYER_SCALE] * FLOAT_BYTES,
            w + spec.layers[layer, LAYER_SHIFT] * FLOAT_BYTES,
            s + (offsets[3 * layer + 2] + first) * FLOAT_BYTES, out, rows, width, stride,
        )  # fmt: skip
        before, before_stride, fan_in = out, stride, width
    head = spec.heads[depth]
    outputs = spec.sizes[SIZE_OUTPUTS]
    stride = stride_of(outputs)
    all_logits = s + offsets[3 * spec.sizes[SIZE_LAYERS] + LOGITS] * FLOAT_BYTES
    logits = all_logits + first * stride * FLOAT_BYTES
    weight = w + spec.layers[head, LAYER_WEIGHT] * FLOAT_BYTES
    weight_stride = spec.layers[head, LAYER_STRIDE]
    multiply(before, before_stride, weight, weight_stride, logits, stride, rows, outputs, fan_in)
    add_bias(logits, w + spec.layers[head, LAYER_BIAS] * FLOAT_BYTES, rows, outputs, stride)
    return all_logits


@njit_helper
def _normalise_backward(
    team: Team, layer: IntArray, w: int, g: int, d: int, x: int, inverse: int, out: int,
    count: int, width: int,
) -> None:  # fmt: skip
    """Turn dL/dout in d into dL/dz in `out`, and sum the gradients of bias, scale and shift.

    Members of a team take some rows each, then some units each. A single thread takes some rows
    after another, which are still in the cache when they are summed.
    """
    stride = stride_of(width)
    scale = w + layer[LAYER_SCALE] * FLOAT_BYTES
    d_bias, d_scale = g + layer[LAYER_BIAS] * FLOAT_BYTES, g + layer[LAYER_SCALE] * FLOAT_BYTES
    d_shift = g + layer[LAYER_SHIFT] * FLOAT_BYTES
    begin_unit, end_unit = share(team, width, LANES)
    clear(d_bias, begin_unit, end_unit)
    clear(d_scale, begin_unit, end_unit)
    clear(d_shift, begin_unit, end_unit)
    first, end = share(team, count, LANES)
    some = NORM_ROWS if team.size == 1 else count
    for begin in range(first, end, some):
        rows, at = min(some, end - begin), begin * stride * FLOAT_BYTES
        inverses = inverse + begin * FLOAT_BYTES
        normalise_backward(d + at, x + at, inverses, out + at, scale, rows, width, stride)
        if team.size == 1:
            sum_norm_gradients(
                d + at, x + at, out + at, d_bias, d_scale, d_shift, rows, 0, width, stride
            )
    if team.size > 1:
        wait_for_members(team)
        sum_norm_gradients(d, x, out, d_bias, d_scale, d_shift, count, begin_unit, end_unit, stride)


@njit_helper
def backward(
    team: Team, network: Network, child: IntArray, x: int, x_stride: int, logits_grad: int,
    count: int, offsets: IntArray, space: WorkerSpace,
) -> None:  # fmt: skip
    """Fill `space.gradients`, laid out as the weights are, from dL/dlogits at an address.

    dW = before^T d and d_before = d W^T. Below the first layer only the embeddings, if there are
    any, need d_before: `space.embedding_grad` [count, embedded units]. The sums of the squares of
    the gradients are left in the buffer, by block (see `squared_norm`).
    """
    spec = network.spec
    w, s, g = address(network.parameters), address(space.buffer), address(space.gradients)
    layers = spec.sizes[SIZE_LAYERS]
    numeric, inputs = spec.sizes[SIZE_NUMERIC], child[0]
    transposed = s + offsets[3 * layers + TRANSPOSED] * FLOAT_BYTES
    grads = s + offsets[3 * layers + GRADS] * FLOAT_BYTES
    squares = s + offsets[3 * layers + SQUARES] * FLOAT_BYTES
    first, end = share(team, count, LANES)
    depth = depth_of(child)
    d, width = logits_grad, spec.sizes[SIZE_OUTPUTS]
    for layer in range(depth, -1, -1):
        index = layer if layer < depth else spec.heads[depth]
        stride = stride_of(width)
        bias = g + spec.layers[index, LAYER_BIAS] * FLOAT_BYTES
        if layer < depth:
            d = s + offsets[3 * layer + 1] * FLOAT_BYTES
            _normalise_backward(
                team, spec.layers[index], w, g, grads, s + offsets[3 * layer] * FLOAT_BYTES,
                s + offsets[3 * layer + 2] * FLOAT_BYTES, d, count, width,
            )  # fmt: skip
        else:
            begin_unit, end_unit = share(team, width, LANES)
            sum_rows(d, bias, count, begin_unit, end_unit, stride)
        before, before_stride, fan_in = x, x_stride, inputs
        if layer > 0:
            before = s + offsets[3 * layer - 2] * FLOAT_BYTES
            before_stride, fan_in = stride_of(child[layer]), child[layer]
        weight_stride = spec.layers[index, LAYER_STRIDE]
        gradient = g + spec.layers[index, LAYER_WEIGHT] * FLOAT_BYTES
        row, end_row = share(team, fan_in, LANES)
        multiply_transposed(
            before + row * FLOAT_BYTES, before_stride, d, stride,
            gradient + row * weight_stride * FLOAT_BYTES, weight_stride, end_row - row, width,
            count,
        )  # fmt: skip
        sum_squares_by_block(gradient, row, end_row, weight_stride, width, squares)
        squares += blocks_of(fan_in) * FLOAT_BYTES
        if layer == 0 and inputs == numeric:
            return
        skipped = numeric if layer == 0 else 0
        wanted = fan_in - skipped
        row, end_row = share(team, wanted, LANES)
        weight = w + spec.layers[index, LAYER_WEIGHT] * FLOAT_BYTES
        transpose(
            weight + (skipped + row) * weight_stride * FLOAT_BYTES, weight_stride,
            transposed + row * FLOAT_BYTES, stride_of(wanted), end_row - row, width,
        )  # fmt: skip
        wait_for_members(team)
        out, out_stride = grads, stride_of(wanted)
        if layer == 0:
            out, out_stride = address(space.embedding_grad), space.embedding_grad.shape[1]
        multiply(
            d + first * stride * FLOAT_BYTES, stride, transposed, stride_of(wanted),
            out + first * out_stride * FLOAT_BYTES, out_stride, end - first, wanted, width,
        )  # fmt: skip
        if layer == 0:
            sum_squares_by_block(out, first, end, out_stride, wanted, squares)
        width = fan_in
