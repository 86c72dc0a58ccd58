"""One child's loss and gradients in plain NumPy, every formula as it is written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tabnas.nets import Child, Examples, Loss, PlainLayer, plain_forward
from tabnas.types import FloatArray, IntArray

Arrays = dict[str, FloatArray]


def forward(
    weights: Mapping[str, FloatArray], child: Child, examples: Examples, rows: IntArray
) -> tuple[FloatArray, list[PlainLayer], FloatArray]:
    """The logits of some rows, and what the way back needs."""
    numeric, categorical = examples.numeric[rows], examples.categorical[rows]
    return plain_forward(weights, numeric, categorical, child.architecture.depth)


def mean_loss(logits: FloatArray, examples: Examples, rows: IntArray) -> tuple[float, FloatArray]:
    """The weighted mean of the rows' losses, and its slope by the logits [rows, outputs]."""
    task = examples.task
    if task.loss is Loss.SOFTMAX:
        log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        chosen = np.eye(task.outputs)[examples.labels[rows]]
        losses, slope = -(log_p * chosen).sum(axis=1), np.exp(log_p) - chosen
    else:
        target = examples.values[rows].astype(np.float64)
        if task.loss is Loss.LOGISTIC:
            losses = (np.logaddexp(0, logits) - target * logits)[:, 0]
            slope = np.exp(-np.logaddexp(0, -logits)) - target
        else:
            losses = np.square(logits - target).mean(axis=1)
            slope = 2 * (logits - target) / task.outputs
    weight = np.ones(len(rows))
    if len(examples.weight):
        weight = examples.weight[rows].astype(np.float64)
    share = weight / weight.sum()
    return float(losses @ share), slope * share[:, None]


def loss_and_gradients(
    weights: Mapping[str, FloatArray], child: Child, examples: Examples, rows: IntArray
) -> tuple[float, Arrays, FloatArray]:
    """Loss; gradients of the dense arrays; slopes of the embedded inputs, [rows, units]."""
    logits, layers, x = forward(weights, child, examples, rows)
    loss, slope = mean_loss(logits, examples, rows)
    depth = child.architecture.depth
    found: Arrays = {
        f"head.{depth}.weight": x.T @ slope,
        f"head.{depth}.bias": slope.sum(axis=0),
    }
    slope = slope @ weights[f"head.{depth}.weight"].T
    for number in range(depth, 0, -1):
        name, layer = f"layer.{number}", layers[number - 1]
        x, normed, deviation = layer.inputs, layer.normed, layer.deviation
        scale = weights[f"{name}.scale"]
        slope = slope * (normed * scale + weights[f"{name}.shift"] > 0)
        found |= {
            f"{name}.scale": (slope * normed).sum(axis=0),
            f"{name}.shift": slope.sum(axis=0),
        }
        slope = slope * scale
        along = (slope * normed).mean(axis=1, keepdims=True)
        slope = (slope - slope.mean(axis=1, keepdims=True) - normed * along) / deviation
        found |= {f"{name}.weight": x.T @ slope, f"{name}.bias": slope.sum(axis=0)}
        slope = slope @ weights[f"{name}.weight"].T
    return loss, found, slope[:, examples.task.inputs.numeric :]
