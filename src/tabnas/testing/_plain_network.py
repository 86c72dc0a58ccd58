"""One child's loss and gradients in plain NumPy, every formula as it is written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tabnas.nets import NORM_EPSILON, Child, Examples, Loss
from tabnas.types import FloatArray, IntArray

Arrays = dict[str, FloatArray]
Kept = list[tuple[FloatArray, ...]]
"""Of every layer: what goes in, what it is when normalised, and the deviation it was divided by."""


def forward(
    weights: Mapping[str, FloatArray], child: Child, examples: Examples, rows: IntArray
) -> tuple[FloatArray, Kept]:
    """The logits [rows, outputs], and what the way back needs."""
    categories = examples.categorical[rows]
    embedded = [weights[f"embedding.{c}"][categories[:, c]] for c in range(categories.shape[1])]
    x = np.concatenate([examples.numeric[rows].astype(np.float64), *embedded], axis=1)
    kept: Kept = []
    depth = child.architecture.depth
    for layer in range(1, depth + 1):
        z = x @ weights[f"layer.{layer}.weight"] + weights[f"layer.{layer}.bias"]
        deviation = np.sqrt(z.var(axis=1, keepdims=True) + NORM_EPSILON)
        normed = (z - z.mean(axis=1, keepdims=True)) / deviation
        kept.append((x, normed, deviation))
        x = np.maximum(
            0, normed * weights[f"layer.{layer}.scale"] + weights[f"layer.{layer}.shift"]
        )
    kept.append((x,))
    return x @ weights[f"head.{depth}.weight"] + weights[f"head.{depth}.bias"], kept


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
    logits, kept = forward(weights, child, examples, rows)
    loss, slope = mean_loss(logits, examples, rows)
    depth = child.architecture.depth
    (x,) = kept.pop()
    found: Arrays = {
        f"head.{depth}.weight": x.T @ slope,
        f"head.{depth}.bias": slope.sum(axis=0),
    }
    slope = slope @ weights[f"head.{depth}.weight"].T
    for layer in range(depth, 0, -1):
        name = f"layer.{layer}"
        x, normed, deviation = kept.pop()
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
