"""The losses and their gradients with respect to the logits."""

from __future__ import annotations

from math import exp, isfinite, log, log1p
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from tabnas.nets.compiled._fields import Batch
from tabnas.nets.compiled._jit import address, njit_helper, njit_in_order, njit_inline
from tabnas.nets.compiled._vectors import FLOAT_BYTES, ONE, ZERO, intrinsic, prefetch, real
from tabnas.types import Float32Array, FloatArray, Int32Array, IntArray

LOGISTIC, SOFTMAX, SQUARED_ERROR = 0, 1, 2

# The probabilities of shuffled rows are seldom in the cache, and loading them takes longer than the
# loss of a row; so they are asked for some rows ahead.
ROWS_AHEAD = 4
CACHE_LINE_BYTES = 64


@intrinsic
def _float_of_bits(context: Any, bits: Any) -> Any:
    """Return the float32 number that has these 32 bits."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@njit_helper
def exp_of_negative(x: float) -> Any:
    """Return exp(x) for x <= 0, to float32 rounding; without a library call, loops vectorise.

    exp(x) = 2^k 2^f with an integer k and |f| <= 1/2; 2^f by its Taylor series, 2^k by its bits.
    NaN stays NaN and is never converted to an integer, which would be undefined.
    """
    # in this order: every comparison with NaN is false, so max() leaves -87 of it
    y = max(real(-87.0), x) * real(1.4426950408889634)
    k = np.int32(y - real(0.5))
    f = y - real(k)
    series = real(1.5252733804059840e-5)
    series = series * f + real(1.5403530393381609e-4)
    series = series * f + real(1.3333558146428443e-3)
    series = series * f + real(9.6181291076284772e-3)
    series = series * f + real(5.5504108664821580e-2)
    series = series * f + real(2.4022650695910071e-1)
    series = series * f + real(6.9314718055994531e-1)
    series = series * f + ONE
    power = series * _float_of_bits(np.int32((k + np.int32(127)) << np.int32(23)))
    return power if x == x else x


@njit_helper
def _softmax(z: Float32Array, i: int, label: int, share: float, classes: int) -> Any:
    """Return log(sum exp z) - z[label] of a row; z becomes share * (softmax(z) - onehot(label))."""
    largest = z[i, 0]
    for j in range(1, classes):
        largest = max(largest, z[i, j])
    target = z[i, label]
    total = ZERO
    for j in range(classes):
        value = exp_of_negative(z[i, j] - largest)
        z[i, j] = value
        total += value
    factor = share / total
    for j in range(classes):
        z[i, j] *= factor
    z[i, label] -= share
    return log(total) + (largest - target)


@njit_helper
def _softmax_soft(
    z: Float32Array, i: int, values: Float32Array, row: int, share: float, classes: int
) -> Any:
    """Return the cross entropy of p = values[row] and softmax(z), without p's own entropy.

    It is s log(sum exp z) - sum p z, with s = sum p; z becomes share * (s softmax(z) - p). s is 1
    up to rounding. With s = 1 instead, a constant added to all logits would change the loss.
    """
    largest = z[i, 0]
    for j in range(1, classes):
        largest = max(largest, z[i, j])
    total, sum_p, margin = ZERO, ZERO, ZERO
    for j in range(classes):
        below = z[i, j] - largest
        sum_p += values[row, j]
        margin -= values[row, j] * below
        value = exp_of_negative(below)
        z[i, j] = value
        total += value
    factor = sum_p * share / total
    for j in range(classes):
        z[i, j] = factor * z[i, j] - share * values[row, j]
    return sum_p * log(total) + margin


@njit_helper
def _softmax_top(
    z: Float32Array, i: int, labels: Int32Array, values: Float32Array, row: int, share: float,
    classes: int,
) -> Any:  # fmt: skip
    """Return the loss of `_softmax_soft` if only some classes have a probability above 0."""
    largest = z[i, 0]
    for j in range(1, classes):
        largest = max(largest, z[i, j])
    sum_p, margin = ZERO, ZERO
    for k in range(labels.shape[1]):
        sum_p += values[row, k]
        margin += values[row, k] * (largest - z[i, labels[row, k]])
    total = ZERO
    for j in range(classes):
        value = exp_of_negative(z[i, j] - largest)
        z[i, j] = value
        total += value
    factor = sum_p * share / total
    for j in range(classes):
        z[i, j] *= factor
    for k in range(labels.shape[1]):
        z[i, labels[row, k]] -= share * values[row, k]
    return sum_p * log(total) + margin


@njit_inline
def _prefetch_row(array: Any, row: int) -> None:
    """Begin to load a row of float32 or int32 numbers."""
    start = address(array) + FLOAT_BYTES * row * array.shape[1]
    for offset in range(0, FLOAT_BYTES * array.shape[1], CACHE_LINE_BYTES):
        prefetch(start + offset)


@njit_helper
def _logistic(z: Float32Array, i: int, target: float, share: float) -> Any:
    """Return log(1 + exp z) - target z of a row; z becomes share * (sigmoid(z) - target)."""
    logit = z[i, 0]
    # exp of a negative number only, so that nothing overflows
    small = real(exp(-abs(logit)))
    sigmoid = ONE / (ONE + small) if logit >= ZERO else small / (ONE + small)
    z[i, 0] = share * (sigmoid - target)
    positive = ZERO if logit < ZERO else logit
    return positive - target * logit + log1p(small)


@njit_helper
def _squared_error(z: Float32Array, i: int, values: Float32Array, row: int, share: float) -> Any:
    """Return the mean of (z - value)^2 of a row; z becomes share * 2 (z - value) / outputs."""
    outputs = values.shape[1]
    per_output = ONE / real(outputs)
    total = ZERO
    for j in range(outputs):
        error = z[i, j] - values[row, j]
        total += error * error
        z[i, j] = real(2.0) * share * per_output * error
    return total * per_output


@njit_inline
def row_of(rows: IntArray, start: int, i: int) -> int:
    """Return the row number of row i of the batch: listed in `rows`, or counted from `start`."""
    return rows[i] if rows.size > 0 else start + i


@njit_helper
def total_weight(batch: Batch) -> float:
    """Return the sum of the row weights: the number of rows, if there are no weights."""
    if batch.weight.size == 0:
        return float(batch.n_rows)
    total = 0.0
    for i in range(batch.n_rows):
        total += batch.weight[row_of(batch.rows, batch.start, i)]
    return total


@njit_inline
def labels_exist(batch: Batch, first: int, end: int, classes: int) -> bool:
    """Return whether the labels of rows `first` to `end` of the batch are those of classes."""
    for i in range(first, end if batch.labels.size > 0 else first):
        row = row_of(batch.rows, batch.start, i)
        for k in range(batch.labels.shape[1]):
            if batch.labels[row, k] < 0 or batch.labels[row, k] >= classes:
                return False
    return True


@njit_helper
def losses_and_grads(
    kind: int, z: Float32Array, batch: Batch, first: int, end: int, outputs: int,
    weight_sum: float, losses: Float32Array,
) -> None:  # fmt: skip
    """Fill in weight * loss / weight_sum of rows `first` to `end` of the batch.

    Their labels must exist. Their logits z [count, outputs] become the gradient of the sum.
    """
    labels, values, weight = batch.labels, batch.values, batch.weight
    is_soft = kind == SOFTMAX and values.size > 0
    for i in range(first, end):
        if is_soft and i + ROWS_AHEAD < end:
            ahead = row_of(batch.rows, batch.start, i + ROWS_AHEAD)
            _prefetch_row(labels, ahead)
            _prefetch_row(values, ahead)
        row = row_of(batch.rows, batch.start, i)
        share = real((weight[row] if weight.size > 0 else ONE) / weight_sum)
        if kind == SOFTMAX:
            if labels.size == 0:
                loss = _softmax_soft(z, i, values, row, share, outputs)
            elif values.size == 0:
                loss = _softmax(z, i, labels[row, 0], share, outputs)
            else:
                loss = _softmax_top(z, i, labels, values, row, share, outputs)
        elif kind == LOGISTIC:
            loss = _logistic(z, i, values[row, 0], share)
        else:
            loss = _squared_error(z, i, values, row, share)
        losses[i] = share * loss


@njit_inline
def are_finite(losses: FloatArray) -> bool:
    """Return whether all losses are finite."""
    finite = True
    for loss in losses:
        finite = finite and isfinite(loss)
    return finite


@njit_in_order
def add_up(losses: Float32Array) -> float:
    """Return the sum in float64, from the first to the last."""
    total = 0.0
    for loss in losses:
        total += loss
    return total
