"""The loss and the gradients of one child in plain NumPy, formula by formula."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tabnas.nets import Child, Examples, Loss, PlainLayer, TopClasses, plain_forward
from tabnas.types import FloatArray, IntArray

Arrays = dict[str, FloatArray]


def forward(
    weights: Mapping[str, FloatArray], child: Child, examples: Examples, rows: IntArray
) -> tuple[FloatArray, list[PlainLayer], FloatArray]:
    """Return the logits of some rows, the layers, and the input of the output layer."""
    numeric, categorical = examples.numeric[rows], examples.categorical[rows]
    inputs = examples.spec.inputs
    return plain_forward(weights, inputs, numeric, categorical, child.architecture.depth)


def class_probabilities(examples: Examples, rows: IntArray) -> FloatArray:
    """Return the target of some rows as the probabilities of all classes."""
    target = examples.target
    if isinstance(target, TopClasses):
        one_hot = np.eye(examples.spec.outputs)[target.classes[rows]]  # [rows, k, classes]
        probabilities = target.probabilities[rows].astype(np.float64)
        return np.asarray(np.einsum("rk,rkc->rc", probabilities, one_hot))
    if not len(examples.labels):
        return examples.values[rows].astype(np.float64)
    return np.asarray(np.eye(examples.spec.outputs)[examples.labels[rows, 0]])


def mean_loss(logits: FloatArray, examples: Examples, rows: IntArray) -> tuple[float, FloatArray]:
    """Return the weighted mean loss and its gradient with respect to the logits."""
    spec = examples.spec
    if spec.loss is Loss.SOFTMAX:
        log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        target = class_probabilities(examples, rows)
        losses = -(target * log_p).sum(axis=1)
        grad = target.sum(axis=1, keepdims=True) * np.exp(log_p) - target
    else:
        target = examples.values[rows].astype(np.float64)
        if spec.loss is Loss.LOGISTIC:
            losses = (np.logaddexp(0, logits) - target * logits)[:, 0]
            grad = np.exp(-np.logaddexp(0, -logits)) - target
        else:
            losses = np.square(logits - target).mean(axis=1)
            grad = 2 * (logits - target) / spec.outputs
    weight = np.ones(len(rows))
    if len(examples.weight):
        weight = examples.weight[rows].astype(np.float64)
    share = weight / weight.sum()
    return float(losses @ share), grad * share[:, None]


def compute_loss_and_gradients(
    weights: Mapping[str, FloatArray], child: Child, examples: Examples, rows: IntArray
) -> tuple[float, Arrays, FloatArray]:
    """Return the loss, gradients of the dense arrays, and of the embedded inputs [rows, units]."""
    logits, layers, x = forward(weights, child, examples, rows)
    loss, grad = mean_loss(logits, examples, rows)
    depth = child.architecture.depth
    gradients: Arrays = {
        f"head.{depth}.weight": x.T @ grad,
        f"head.{depth}.bias": grad.sum(axis=0),
    }
    grad = grad @ weights[f"head.{depth}.weight"].T
    for number in range(depth, 0, -1):
        name, layer = f"layer.{number}", layers[number - 1]
        x, normed, deviation = layer.inputs, layer.normed, layer.deviation
        scale = weights[f"{name}.scale"]
        grad = grad * (normed * scale + weights[f"{name}.shift"] > 0)
        gradients |= {
            f"{name}.scale": (grad * normed).sum(axis=0),
            f"{name}.shift": grad.sum(axis=0),
        }
        grad = grad * scale
        along = (grad * normed).mean(axis=1, keepdims=True)
        grad = (grad - grad.mean(axis=1, keepdims=True) - normed * along) / deviation
        gradients |= {f"{name}.weight": x.T @ grad, f"{name}.bias": grad.sum(axis=0)}
        grad = grad @ weights[f"{name}.weight"].T
    return loss, gradients, grad[:, examples.spec.inputs.numeric :]
