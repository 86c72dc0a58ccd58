"""Forward pass and losses in PyTorch, with one child's weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from tabnas.nets._network_spec import Loss
from tabnas.nets._shape import NORM_EPSILON, Child


def forward(weights: Mapping[str, Tensor], child: Child, x: Tensor) -> Tensor:
    """Return the logits [rows, outputs] of inputs [rows, inputs], which include embeddings."""
    for layer, width in enumerate(child.architecture.widths, start=1):
        z = x @ weights[f"layer.{layer}.weight"] + weights[f"layer.{layer}.bias"]
        scale, shift = weights[f"layer.{layer}.scale"], weights[f"layer.{layer}.shift"]
        x = functional.relu(functional.layer_norm(z, (width,), scale, shift, NORM_EPSILON))
    depth = child.architecture.depth
    return x @ weights[f"head.{depth}.weight"] + weights[f"head.{depth}.bias"]


def row_losses(
    kind: Loss, logits: Tensor, target: Tensor, probabilities: Tensor | None = None
) -> Tensor:
    """Return the loss of each row, [rows]; `probabilities` are those of the classes in target."""
    if probabilities is not None:
        chosen = functional.log_softmax(logits, dim=1).gather(1, target)
        return -(probabilities * chosen).sum(dim=1)
    if kind is Loss.SOFTMAX:  # class numbers, or probabilities of all classes
        return functional.cross_entropy(logits, target, reduction="none")
    if kind is Loss.LOGISTIC:
        losses = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return losses[:, 0]
    return torch.square(logits - target).mean(dim=1)


def mean_loss(losses: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of the rows' losses, weighted if there are weights."""
    if weight is None:
        return losses.mean()
    share = weight / weight.max()  # only proportions matter, and a sum of weights could overflow
    return (losses * share).sum() / share.sum()
