"""Product policies as arrays of logits: one independent softmax per layer."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from tabnas.errors import TabNASError
from tabnas.space import SearchSpace
from tabnas.types import FloatArray

Logits = ArrayLike | Sequence[ArrayLike] | None
"""[..., layers, max_choices], or one array per layer, or None for the uniform policy.

Log-probabilities are valid logits. Leading axes hold a batch of independent policies.
"""


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return `log p_ij = l_ij - log sum_j exp l_ij` over the last axis; -inf stays -inf.

    A row with NaN, with +inf, or of -inf only becomes NaN.
    """
    from tabnas.feasible import _kernels

    rows = np.ascontiguousarray(logits).reshape(-1, logits.shape[-1])
    return _kernels.log_softmax(rows).reshape(logits.shape)


def log_probabilities(space: SearchSpace, logits: Logits = None) -> FloatArray:
    """Return the log-probabilities of a policy, [..., layers, max_choices]; -inf in the padding."""
    if logits is None:
        return log_softmax(np.where(space.mask, 0.0, -np.inf))
    array = _pad(space, logits)
    if space.is_ragged:
        array = np.where(space.mask, array, -np.inf)
    log_p = log_softmax(array)
    if isnan(log_p.max()):
        if np.isnan(array).any():
            raise TabNASError("the logits of a policy must be numbers, got NaN")
        raise TabNASError("the largest logit of each layer must be finite")
    return log_p


def _pad(space: SearchSpace, logits: ArrayLike | Sequence[ArrayLike]) -> FloatArray:
    shape = (len(space.layers), space.max_choices)
    try:
        if isinstance(logits, list | tuple) and len(logits) == len(space.layers):
            layers = [np.asarray(layer, dtype=np.float64) for layer in logits]
            counts = [(len(candidates),) for candidates in space.layers]
            if [layer.shape for layer in layers] == counts:
                padded = np.full(shape, -np.inf)
                padded[space.mask] = np.concatenate(layers)
                return padded
        array: FloatArray = np.asarray(logits, dtype=np.float64)
    except (TypeError, ValueError):  # ragged, or not numbers
        array = np.empty(0)
    if array.shape[-2:] != shape or array.size == 0:
        raise TabNASError(
            f"logits must be one per candidate of each layer, for {shape[0]} layers of up to "
            f"{shape[1]} candidates, got an array of shape {array.shape}"
        )
    return array
