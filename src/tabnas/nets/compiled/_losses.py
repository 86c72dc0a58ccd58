"""The losses and their gradients with respect to the logits."""

from __future__ import annotations

from math import exp, log, log1p
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from tabnas.nets._examples import Float32Array, Int32Array
from tabnas.nets.compiled._jit import inlined, inner
from tabnas.nets.compiled._vectors import ONE, ZERO, intrinsic, real
from tabnas.types import IntArray

LOGISTIC, SOFTMAX, SQUARED_ERROR = 0, 1, 2


@intrinsic
def _float_of_bits(context: Any, bits: Any) -> Any:
    """The float32 number that has these 32 bits."""

    def generate(target: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@inner
def exp_of_negative(x: float) -> Any:
    """exp(x) for x <= 0, to float32 rounding, without a library call so that loops vectorise.

    exp(x) = 2^k 2^f with k whole and |f| <= 1/2; 2^f by its Taylor series, 2^k by its bits. NaN
    stays NaN, but takes no part in that: as an integer it would be undefined.
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


@inner
def _softmax(z: Float32Array, i: int, label: int, share: float, classes: int) -> Any:
    """One row: log(sum exp z) - z[label]; z becomes share * (softmax(z) - onehot(label))."""
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


@inner
def _logistic(z: Float32Array, i: int, target: float, share: float) -> Any:
    """One row: log(1 + exp z) - target z; z becomes share * (sigmoid(z) - target)."""
    logit = z[i, 0]
    # exp of a negative number only, so that nothing overflows
    small = real(exp(-abs(logit)))
    sigmoid = ONE / (ONE + small) if logit >= ZERO else small / (ONE + small)
    z[i, 0] = share * (sigmoid - target)
    positive = ZERO if logit < ZERO else logit
    return positive - target * logit + log1p(small)


@inner
def _squared_error(z: Float32Array, i: int, values: Float32Array, row: int, share: float) -> Any:
    """One row: mean of (z - value)^2; z becomes share * 2 (z - value) / outputs."""
    outputs = values.shape[1]
    per_output = ONE / real(outputs)
    total = ZERO
    for j in range(outputs):
        error = z[i, j] - values[row, j]
        total += error * error
        z[i, j] = real(2.0) * share * per_output * error
    return total * per_output


@inlined
def row_of(rows: IntArray, start: int, i: int) -> int:
    """The table's row that is row i of the batch: listed, or counted from `start`."""
    return rows[i] if rows.size > 0 else start + i


@inner
def total_weight(weight: Float32Array, rows: IntArray, start: int, count: int) -> float:
    """What the rows weigh together."""
    if weight.size == 0:
        return float(count)
    total = 0.0
    for i in range(count):
        total += weight[row_of(rows, start, i)]
    return total


@inner
def loss_and_slopes(
    kind: int, z: Float32Array, labels: Int32Array, values: Float32Array, weight: Float32Array,
    rows: IntArray, start: int, count: int, outputs: int, whole: float,
) -> float:  # fmt: skip
    """Sum over rows of weight * loss / whole; the logits z [count, outputs] become its gradient."""
    total = 0.0
    for i in range(count):
        row = row_of(rows, start, i)
        share = real((weight[row] if weight.size > 0 else ONE) / whole)
        if kind == SOFTMAX:
            if labels[row] < 0 or labels[row] >= outputs:
                raise ValueError("label out of range")
            loss = float(_softmax(z, i, labels[row], share, outputs))
        elif kind == LOGISTIC:
            loss = float(_logistic(z, i, values[row, 0], share))
        else:
            loss = float(_squared_error(z, i, values, row, share))
        total += share * loss
    return total
