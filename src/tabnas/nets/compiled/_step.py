"""One batch through one child: forward, loss and backward, on the child's blocks only."""

from __future__ import annotations

from typing import Any

from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._embeddings import gather
from tabnas.nets.compiled._jit import address, inner
from tabnas.nets.compiled._layers import add_bias, normalise, normalise_backward, sum_rows
from tabnas.nets.compiled._layout import Field, Plan, Size
from tabnas.nets.compiled._products import multiply, multiply_transposed, transpose
from tabnas.nets.compiled._strides import stride_of
from tabnas.nets.compiled._vectors import FLOAT_BYTES, LANES
from tabnas.types import IntArray

# as plain integers, which compile to constants
WEIGHT, STRIDE, BIAS, SCALE, SHIFT = (
    int(Field.WEIGHT), int(Field.STRIDE), int(Field.BIAS), int(Field.SCALE), int(Field.SHIFT),
)  # fmt: skip
LAYERS, NUMERIC, INPUTS, OUTPUTS = (
    int(Size.LAYERS), int(Size.NUMERIC), int(Size.INPUTS), int(Size.OUTPUTS),
)  # fmt: skip


@inner
def depth_of(child: IntArray) -> int:
    """The number of hidden layers of a child."""
    depth = 0
    while depth < child.size and child[depth] > 0:
        depth += 1
    return depth


@inner
def input_stride(plan: Plan) -> int:
    """Room for the inputs of a row, and a vector beyond (see `gather`)."""
    return stride_of(plan.sizes[INPUTS] + LANES)


@inner
def carve(plan: Plan, child: IntArray, count: int, places: IntArray) -> None:
    """Divide the workspace among the arrays of a step.

    Per layer three entries of `places`: normalised values, outputs, inverse deviations; after all
    layers: the inputs, the logits, two buffers for gradients, one for a transposed matrix.
    """
    layers = plan.sizes[LAYERS]
    inputs = plan.sizes[INPUTS]
    outputs = plan.sizes[OUTPUTS]
    used = 0
    widest = max(stride_of(outputs), stride_of(inputs - plan.sizes[NUMERIC]))
    for layer in range(layers):
        stride = stride_of(child[layer])
        widest = max(widest, stride)
        places[3 * layer] = used
        places[3 * layer + 1] = used + count * stride
        places[3 * layer + 2] = used + 2 * count * stride
        used += count * (2 * stride + 1)
    for entry, stride in enumerate((input_stride(plan), stride_of(outputs), widest, widest)):
        places[3 * layers + entry] = used
        used += count * stride
    places[3 * layers + 4] = used


@inner
def gathers(plan: Plan, rows: IntArray) -> bool:
    """Whether the inputs have to be copied together, or lie side by side in the table."""
    return plan.columns.shape[0] > 0 or rows.size > 0


@inner
def inputs_of(
    plan: Plan, tables: Float32Array, numeric: Float32Array, categorical: Int32Array,
    rows: IntArray, start: int, count: int, places: IntArray, space: Float32Array, ids: Int32Array,
) -> tuple[int, int]:  # fmt: skip
    """Address and row stride of the batch's inputs."""
    columns = numeric.shape[1]
    if not gathers(plan, rows):
        return address(numeric) + start * columns * FLOAT_BYTES, columns
    stride = input_stride(plan)
    x = address(space) + places[3 * plan.sizes[LAYERS]] * FLOAT_BYTES
    gather(plan.columns, tables, numeric, categorical, rows, start, count, x, stride, ids)
    return x, stride


@inner
def forward(
    plan: Plan, weights: Float32Array, child: IntArray, x: int, x_stride: int, count: int,
    places: IntArray, space: Float32Array,
) -> Any:  # fmt: skip
    """The address of the logits [count, outputs]; what the way back needs stays in `space`."""
    w, s = address(weights), address(space)
    depth = depth_of(child)
    before, before_stride, fan_in = x, x_stride, plan.sizes[INPUTS]
    for layer in range(depth):
        width = child[layer]
        stride = stride_of(width)
        z = s + places[3 * layer] * FLOAT_BYTES
        out = s + places[3 * layer + 1] * FLOAT_BYTES
        weight = w + plan.matrices[layer, WEIGHT] * FLOAT_BYTES
        weight_stride = plan.matrices[layer, STRIDE]
        multiply(before, before_stride, weight, weight_stride, z, stride, count, width, fan_in)
        normalise(
            z, w + plan.matrices[layer, BIAS] * FLOAT_BYTES,
            w + plan.matrices[layer, SCALE] * FLOAT_BYTES,
            w + plan.matrices[layer, SHIFT] * FLOAT_BYTES,
            s + places[3 * layer + 2] * FLOAT_BYTES, out, count, width, stride,
        )  # fmt: skip
        before, before_stride, fan_in = out, stride, width
    head = plan.heads[depth]
    outputs = plan.sizes[OUTPUTS]
    stride = stride_of(outputs)
    logits = s + places[3 * plan.sizes[LAYERS] + 1] * FLOAT_BYTES
    weight = w + plan.matrices[head, WEIGHT] * FLOAT_BYTES
    weight_stride = plan.matrices[head, STRIDE]
    multiply(before, before_stride, weight, weight_stride, logits, stride, count, outputs, fan_in)
    add_bias(logits, w + plan.matrices[head, BIAS] * FLOAT_BYTES, count, outputs, stride)
    return logits


@inner
def backward(
    plan: Plan, weights: Float32Array, child: IntArray, x: int, x_stride: int, slopes: int,
    count: int, places: IntArray, space: Float32Array, gradients: Float32Array,
    embedding_slopes: Float32Array,
) -> None:  # fmt: skip
    """Fill `gradients`, laid out as the weights are, from dL/dlogits.

    dW = before^T d and d_before = d W^T. Below the first layer only the embeddings, if there are
    any, need d_before: embedding_slopes [count, embedded units].
    """
    w, s, g = address(weights), address(space), address(gradients)
    layers, numeric, inputs = plan.sizes[LAYERS], plan.sizes[NUMERIC], plan.sizes[INPUTS]
    across = s + places[3 * layers + 4] * FLOAT_BYTES
    depth = depth_of(child)
    d, width = slopes, plan.sizes[OUTPUTS]
    for layer in range(depth, -1, -1):
        index = layer if layer < depth else plan.heads[depth]
        stride = stride_of(width)
        bias = g + plan.matrices[index, BIAS] * FLOAT_BYTES
        if layer < depth:
            normalise_backward(
                d, s + places[3 * layer] * FLOAT_BYTES, s + places[3 * layer + 2] * FLOAT_BYTES,
                s + places[3 * layer + 1] * FLOAT_BYTES,
                w + plan.matrices[index, SCALE] * FLOAT_BYTES, bias,
                g + plan.matrices[index, SCALE] * FLOAT_BYTES,
                g + plan.matrices[index, SHIFT] * FLOAT_BYTES, count, width, stride,
            )  # fmt: skip
        else:
            sum_rows(d, bias, count, width, stride)
        before, before_stride, fan_in = x, x_stride, inputs
        if layer > 0:
            before = s + places[3 * layer - 2] * FLOAT_BYTES
            before_stride, fan_in = stride_of(child[layer - 1]), child[layer - 1]
        weight_stride = plan.matrices[index, STRIDE]
        gradient = g + plan.matrices[index, WEIGHT] * FLOAT_BYTES
        multiply_transposed(
            before, before_stride, d, stride, gradient, weight_stride, fan_in, width, count
        )
        if layer == 0 and inputs == numeric:
            return
        skipped = numeric if layer == 0 else 0
        wanted = fan_in - skipped
        weight = w + (plan.matrices[index, WEIGHT] + skipped * weight_stride) * FLOAT_BYTES
        transpose(weight, weight_stride, across, stride_of(wanted), wanted, width)
        out, out_stride = address(embedding_slopes), embedding_slopes.shape[1]
        if layer > 0:
            out = s + places[3 * layers + 2 + layer % 2] * FLOAT_BYTES
            out_stride = stride_of(wanted)
        multiply(d, stride, across, stride_of(wanted), out, out_stride, count, wanted, width)
        d, width = out, fan_in
