"""Product policies as arrays of logits: one softmax per layer, layers independent."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from tabnas.errors import TabnasError
from tabnas.space import SearchSpace
from tabnas.types import FloatArray

Logits = ArrayLike | Sequence[ArrayLike] | None
"""[..., layers, max_choices], or one array per layer, or None for the uniform policy.

Log-probabilities are logits, too. Leading axes hold a batch of independent policies.
"""


def log_softmax(logits: FloatArray) -> FloatArray:
    """`log p_ij = l_ij - log sum_j exp l_ij` over the last axis; -inf stays -inf.

    A row with NaN, with +inf, or of nothing but -inf has no such thing and becomes NaN.
    """
    from tabnas.feasible import _kernels

    rows = np.ascontiguousarray(logits).reshape(-1, logits.shape[-1])
    return _kernels.log_softmax(rows).reshape(logits.shape)


def log_probabilities(space: SearchSpace, logits: Logits = None) -> FloatArray:
    """The policy's log-probabilities, [..., layers, max_choices], -inf in the padding."""
    if logits is None:
        return log_softmax(np.where(space.mask, 0.0, -np.inf))
    array = _padded(space, logits)
    if space.ragged:
        array = np.where(space.mask, array, -np.inf)
    log_p = log_softmax(array)
    if isnan(log_p.max()):
        if np.isnan(array).any():
            raise TabnasError("the logits of a policy must be numbers, however NaN was given")
        raise TabnasError("the logits of a policy must leave each layer a finite largest one")
    return log_p


def _padded(space: SearchSpace, logits: ArrayLike | Sequence[ArrayLike]) -> FloatArray:
    shape = (space.depth, space.max_choices)
    try:
        if isinstance(logits, list | tuple) and len(logits) == space.depth:
            layers = [np.asarray(layer, dtype=np.float64) for layer in logits]
            counts = [(len(candidates),) for candidates in space.candidates]
            if [layer.shape for layer in layers] == counts:
                padded = np.full(shape, -np.inf)
                padded[space.mask] = np.concatenate(layers)
                return padded
        array: FloatArray = np.asarray(logits, dtype=np.float64)
    except (TypeError, ValueError):  # ragged, or not numbers
        array = np.empty(0)
    if array.shape[-2:] != shape or array.size == 0:
        raise TabnasError(
            f"the logits must be one per candidate of each layer, {shape[0]} layers of up to "
            f"{shape[1]} candidates, however an array of shape {array.shape} was given"
        )
    return array
