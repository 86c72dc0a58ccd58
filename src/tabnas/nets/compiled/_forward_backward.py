"""One batch through one child: forward and backward pass, on the child's blocks only."""

from __future__ import annotations

from typing import Any

from tabnas.nets._examples import Float32Array, Int32Array
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
    Network,
    NetworkSpec,
    WorkerSpace,
)
from tabnas.nets.compiled._jit import address, njit_helper, njit_inline
from tabnas.nets.compiled._layer_norm import add_bias, normalise, normalise_backward, sum_rows
from tabnas.nets.compiled._numeric_embeddings import dimension_of, embed_numbers, sum_by_knot
from tabnas.nets.compiled._products import multiply, multiply_transposed, transpose
from tabnas.nets.compiled._strides import positions_size, stride_of
from tabnas.nets.compiled._vectors import FLOAT_BYTES, LANES
from tabnas.types import IntArray

# The offsets of a step's arrays in the buffer. Each layer has three: normalised values, outputs,
# inverse deviations. After those of all layers:
INPUTS, LOGITS, GRADS, POSITIONS, TRANSPOSED = 0, 1, 2, 4, 5  # GRADS are two buffers
OFFSETS_OF_LAYER, OTHER_OFFSETS = 3, 6


@njit_helper
def depth_of(child: IntArray) -> int:
    """Return the number of hidden layers of a child: its units after the inputs, up to a 0."""
    depth = 0
    while depth + 1 < child.size and child[depth + 1] > 0:
        depth += 1
    return depth


@njit_inline
def input_stride(child: IntArray) -> int:
    """Return the stride of the inputs: a row, and a vector beyond (see `gather`)."""
    return stride_of(child[0] + LANES)


@njit_inline
def partition_workspace(spec: NetworkSpec, child: IntArray, count: int, offsets: IntArray) -> None:
    """Divide the buffer among the arrays of a step: fill the offsets that are listed above."""
    layers = spec.sizes[SIZE_LAYERS]
    outputs = spec.sizes[SIZE_OUTPUTS]
    used = 0
    widest = max(stride_of(outputs), stride_of(child[0] - spec.sizes[SIZE_NUMERIC]))
    for layer in range(layers):
        stride = stride_of(child[layer + 1])
        widest = max(widest, stride)
        offsets[3 * layer] = used
        offsets[3 * layer + 1] = used + count * stride
        offsets[3 * layer + 2] = used + 2 * count * stride
        used += count * (2 * stride + 1)
    for entry, stride in enumerate((input_stride(child), stride_of(outputs), widest, widest)):
        offsets[3 * layers + entry] = used
        used += count * stride
    offsets[3 * layers + POSITIONS] = used
    offsets[3 * layers + TRANSPOSED] = used + positions_size(spec.knot_columns.shape[0], count)


@njit_inline
def prepare_inputs(
    network: Network, child: IntArray, batch: Batch, offsets: IntArray, buffer: Float32Array,
    ids: Int32Array,
) -> tuple[int, int]:  # fmt: skip
    """Return address and row stride of the batch's inputs [count, inputs].

    Rows without embeddings that lie side by side in the table are used in place; others are
    gathered in the buffer.
    """
    spec, columns = network.spec, batch.numeric.shape[1]
    if child[0] == columns and batch.rows.size == 0:
        return address(batch.numeric) + batch.start * columns * FLOAT_BYTES, columns
    stride = input_stride(child)
    layers = spec.sizes[SIZE_LAYERS]
    x = address(buffer) + offsets[3 * layers + INPUTS] * FLOAT_BYTES
    gather(spec.embeddings, network.tables[0], batch, x, stride, ids)
    dimension = dimension_of(spec, child)
    if dimension > 0:
        positions = address(buffer) + offsets[3 * layers + POSITIONS] * FLOAT_BYTES
        embed_numbers(spec, network.parameters, batch.n_rows, dimension, x, stride, positions)
    return x, stride


@njit_helper
def forward(
    network: Network, child: IntArray, x: int, x_stride: int, count: int, offsets: IntArray,
    buffer: Float32Array,
) -> Any:  # fmt: skip
    """Return the address of the logits [count, outputs].

    What the backward pass needs stays in the buffer.
    """
    spec = network.spec
    w, s = address(network.parameters), address(buffer)
    depth = depth_of(child)
    before, before_stride, fan_in = x, x_stride, child[0]
    for layer in range(depth):
        width = child[layer + 1]
        stride = stride_of(width)
        z = s + offsets[3 * layer] * FLOAT_BYTES
        out = s + offsets[3 * layer + 1] * FLOAT_BYTES
        weight = w + spec.layers[layer, LAYER_WEIGHT] * FLOAT_BYTES
        weight_stride = spec.layers[layer, LAYER_STRIDE]
        multiply(before, before_stride, weight, weight_stride, z, stride, count, width, fan_in)
        normalise(
            z, w + spec.layers[layer, LAYER_BIAS] * FLOAT_BYTES,
            w + spec.layers[layer, LAYER_SCALE] * FLOAT_BYTES,
            w + spec.layers[layer, LAYER_SHIFT] * FLOAT_BYTES,
            s + offsets[3 * layer + 2] * FLOAT_BYTES, out, count, width, stride,
        )  # fmt: skip
        before, before_stride, fan_in = out, stride, width
    head = spec.heads[depth]
    outputs = spec.sizes[SIZE_OUTPUTS]
    stride = stride_of(outputs)
    logits = s + offsets[3 * spec.sizes[SIZE_LAYERS] + LOGITS] * FLOAT_BYTES
    weight = w + spec.layers[head, LAYER_WEIGHT] * FLOAT_BYTES
    weight_stride = spec.layers[head, LAYER_STRIDE]
    multiply(before, before_stride, weight, weight_stride, logits, stride, count, outputs, fan_in)
    add_bias(logits, w + spec.layers[head, LAYER_BIAS] * FLOAT_BYTES, count, outputs, stride)
    return logits


@njit_helper
def backward(
    network: Network, child: IntArray, x: int, x_stride: int, logits_grad: int, count: int,
    offsets: IntArray, space: WorkerSpace,
) -> None:  # fmt: skip
    """Fill `space.gradients`, laid out as the weights are, from dL/dlogits at an address.

    dW = before^T d and d_before = d W^T. Below the first layer only the embeddings, if there are
    any, need d_before: `space.embedding_grad` [count, embedded units]. The gradient of numeric
    embeddings is summed from it at once, as their tables are small.
    """
    spec = network.spec
    w, s, g = address(network.parameters), address(space.buffer), address(space.gradients)
    layers = spec.sizes[SIZE_LAYERS]
    numeric, inputs = spec.sizes[SIZE_NUMERIC], child[0]
    transposed = s + offsets[3 * layers + TRANSPOSED] * FLOAT_BYTES
    depth = depth_of(child)
    d, width = logits_grad, spec.sizes[SIZE_OUTPUTS]
    for layer in range(depth, -1, -1):
        index = layer if layer < depth else spec.heads[depth]
        stride = stride_of(width)
        bias = g + spec.layers[index, LAYER_BIAS] * FLOAT_BYTES
        if layer < depth:
            normalise_backward(
                d, s + offsets[3 * layer] * FLOAT_BYTES, s + offsets[3 * layer + 2] * FLOAT_BYTES,
                s + offsets[3 * layer + 1] * FLOAT_BYTES,
                w + spec.layers[index, LAYER_SCALE] * FLOAT_BYTES, bias,
                g + spec.layers[index, LAYER_SCALE] * FLOAT_BYTES,
                g + spec.layers[index, LAYER_SHIFT] * FLOAT_BYTES, count, width, stride,
            )  # fmt: skip
        else:
            sum_rows(d, bias, count, width, stride)
        before, before_stride, fan_in = x, x_stride, inputs
        if layer > 0:
            before = s + offsets[3 * layer - 2] * FLOAT_BYTES
            before_stride, fan_in = stride_of(child[layer]), child[layer]
        weight_stride = spec.layers[index, LAYER_STRIDE]
        gradient = g + spec.layers[index, LAYER_WEIGHT] * FLOAT_BYTES
        multiply_transposed(
            before, before_stride, d, stride, gradient, weight_stride, fan_in, width, count
        )
        if layer == 0 and inputs == numeric:
            return
        skipped = numeric if layer == 0 else 0
        wanted = fan_in - skipped
        weight = w + (spec.layers[index, LAYER_WEIGHT] + skipped * weight_stride) * FLOAT_BYTES
        transpose(weight, weight_stride, transposed, stride_of(wanted), wanted, width)
        out, out_stride = address(space.embedding_grad), space.embedding_grad.shape[1]
        if layer > 0:
            out = s + offsets[3 * layers + GRADS + layer % 2] * FLOAT_BYTES
            out_stride = stride_of(wanted)
        multiply(d, stride, transposed, stride_of(wanted), out, out_stride, count, wanted, width)
        d, width = out, fan_in
    dimension = dimension_of(spec, child)
    if dimension > 0:
        positions = s + offsets[3 * layers + POSITIONS] * FLOAT_BYTES
        sum_by_knot(spec, dimension, count, positions, space)
